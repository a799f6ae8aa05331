// Pools by windows, for layers and operations.
#pragma once

#include <string>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

Tensor* pool(LayerCall& c, OpKind kind, Tensor* x, const Ints& kernel, const Ints& strides,
             const std::string& padding, bool channels_first);

}  // namespace ec::keras
