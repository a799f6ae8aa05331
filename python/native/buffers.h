// Bytes between Python buffers and blobs.
#pragma once

#include "bindings.h"
#include "support/blob.h"

namespace ec::python {

// The buffer's bytes: shared when the buffer is read-only (nobody can change them), else copied.
// Requires a C-contiguous buffer.
Blob blob_from_buffer(const py::buffer& buffer);

}  // namespace ec::python
