// Operands of operations: numbers and tensors of different types brought together as Keras does.
#pragma once

#include <utility>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

// Two arguments in one type: floats win over integers, wider over narrower, tensors over numbers.
std::pair<Tensor*, Tensor*> operands(LayerCall& c, const Value& a, const Value& b,
                                     bool real = false);
Tensors in_one_type(LayerCall& c, Tensors all);
// Axes of an argument or of the configuration: None is all of them.
Ints axes_of(LayerCall& c, const Value& value, int64_t rank);
std::optional<DType> dtype_of(const Value& value);

Tensor* subscript(LayerCall& c, Tensor* x, const Value& key);

}  // namespace ec::keras
