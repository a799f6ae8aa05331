// Attention on heads, for layers and operations.
#pragma once

#include <optional>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// Operands [batch, length, heads, size]; bias and mask fit [batch, heads, T, S] or are null.
Tensor* dot_product_attention(LayerCall& c, Tensor* query, Tensor* key, Tensor* value, Tensor* bias,
                              Tensor* mask, std::optional<double> scale, bool causal);

}  // namespace ec::keras
