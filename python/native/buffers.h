// Bytes between Python buffers and blobs.
#pragma once

#include "bindings.h"
#include "support/blob.h"

namespace ec::python {

// The buffer's bytes: shared when the buffer is read-only (nobody can change them), else copied.
// Requires a C-contiguous buffer.
Blob blob_from_buffer(const py::buffer& buffer);
// The buffer's bytes without a copy, for as long as the caller leaves them alone.
Blob view_of_buffer(const py::buffer& buffer);

// Bytes handed to Python through the buffer protocol.
struct Bytes {
  Blob blob;
  bool writable = false;
};

}  // namespace ec::python
