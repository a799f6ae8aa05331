// A GraphDef in a file: all of it but the weights is read.
#pragma once

#include "support/file_bytes.h"
#include "support/result.h"

namespace ec::tf {

// Long contents of constants stay in the file (TensorReader asks for them), everything else can be
// decoded afterwards from file.span(). Damaged messages are read as they are: the decoder tells.
// Errors: those of reading.
Status read_graph_outline(const FileBytes& file);

}  // namespace ec::tf
