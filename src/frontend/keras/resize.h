// Images in another size, for layers and operations.
#pragma once

#include <string>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// The spatial axes of x in these sizes, as tf.image.resize does it.
Tensor* resize(LayerCall& c, Tensor* x, const Ints& axes, const Ints& sizes,
               const std::string& interpolation, bool antialias);

}  // namespace ec::keras
