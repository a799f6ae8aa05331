// Windows of convolutions and pools: strides, dilations and padding as ML Programs state them.
#pragma once

#include "frontend/coreml/op_call.h"

namespace ec::mil {

struct Window {
  Ints strides, dilations, pads;  // pads: all begins, then all ends
  AutoPad auto_pad = AutoPad::Explicit;
};

// Reads the parameters for windows of this size over x, which has two dimensions in front. Pads are
// numbers where the sizes of x are known.
Window read_window(OpCall& c, Tensor* x, const Ints& kernel);

// Positive, and small enough to multiply; an error otherwise.
bool check_window(OpCall& c, const Ints& numbers, std::string_view what);

}  // namespace ec::mil
