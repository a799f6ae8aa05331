// Lines [N, W, C] as images of height 1.
#pragma once

#include "passes/replacement.h"

namespace ec::passes {

// [N, W, C] -> [N, 1, W, C].
Shape with_height(const Shape& line);
// The line as an image, and the image as a line of this shape. Constants are reshaped at once.
Tensor* raised(Replacement& p, Tensor* line);
Tensor* lowered(Replacement& p, Tensor* image, const Shape& line);

}  // namespace ec::passes
