// What front ends need to know of the options.
#pragma once

#include "edgecompiler/options.h"
#include "frontend/frontend.h"

namespace ec {

inline ImportOptions import_options(const Options& options) {
  ImportOptions result;
  result.input_shapes = options.shapes("input-shape");
  result.dims = options.sizes("dim");
  return result;
}

}  // namespace ec
