// Inputs that take pixels: a model with its preprocessing folded in becomes a package whose input
// is an image.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "support/result.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

// Inputs u8[1,H,W,3] and u8[1,H,W,1] that are cast to floats become f32[1,3,H,W] and f32[1,1,H,W]
// with values from 0 to 255, as Core ML hands images over.
Result<std::vector<CoremlImageInput>> give_image_inputs(Graph& graph);

}  // namespace ec::metal
