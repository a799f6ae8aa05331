// Quantised layers: those of Keras 3 (int8, int4), and what quantisation-aware training with
// tensorflow-model-optimization leaves.
#pragma once

#include <string>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// Whether the layer's own policy stores integers.
bool is_quantized_layer(const LayerCall& c);
Tensor* quantized_dense(LayerCall& c, Tensor* x);
Tensor* quantized_einsum_dense(LayerCall& c, Tensor* x, const std::string& equation, bool bias);
Tensor* quantized_embedding(LayerCall& c, Tensor* ids);

// A kernel in the order of the IR passes through the steps that training simulated, where the call
// says so; `axis` has the channels.
Tensor* trained_steps(LayerCall& c, Tensor* kernel, int64_t axis);

}  // namespace ec::keras
