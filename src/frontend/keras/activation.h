// Activation functions by name, for layers, operations and recurrent cells.
#pragma once

#include <string_view>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// Null where the name is not known.
using ActivationFn = Tensor* (*)(LayerCall& c, Tensor* x);
ActivationFn find_activation(std::string_view name);

// The name of an activation that a configuration gives, "linear" for none; empty where it is more
// than a name.
std::string activation_name(const Value& spec);

// relu with all its arguments.
Tensor* general_relu(LayerCall& c, Tensor* x, double slope, std::optional<double> max,
                     double threshold);
Tensor* leaky_relu(LayerCall& c, Tensor* x, double slope);
Tensor* gelu(LayerCall& c, Tensor* x, bool approximate);
Tensor* glu(LayerCall& c, Tensor* x, int64_t axis);
Tensor* sparsemax(LayerCall& c, Tensor* x, int64_t axis);
Tensor* squareplus(LayerCall& c, Tensor* x, double b);
Tensor* softmax_over(LayerCall& c, Tensor* x, const Ints& axes);

}  // namespace ec::keras
