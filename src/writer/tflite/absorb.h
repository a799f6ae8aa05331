// Steps that the graph has as operations of their own and an operator of the file does by itself:
// indices cast to 64 bits, the new dimension along which tensors are stacked. And stored weights
// that the file has in another order: they are transposed before they are dequantised.
#pragma once

#include "ir/graph.h"

namespace ec::tflite {

// The tensor that the operator for `op` reads as operand i: the operand itself, or what it was made
// from. Requires that there is an operand i.
const ec::Tensor* written_operand(const Operation& op, size_t i);

// The constant that is stored with fewer bits than the tensor has; null: the tensor is no such.
const ec::Tensor* stored_constant(const ec::Tensor& tensor);
// Whether a convolution with channels last is DEPTHWISE_CONV_2D.
bool is_depthwise(const Operation& conv);

// Whether the operands are stacked along a new dimension: PACK. Its operands come without that
// dimension; constant ones still have it.
bool is_pack(const Operation& concat);

// The sizes of a slice whose ends were computed from them; null: there are none.
const ec::Tensor* slice_sizes(const Operation& slice);
// The pairs of pads, one for each dimension, that the list of computed pads was made from.
const ec::Tensor* pad_pairs(const Operation& pad);

}  // namespace ec::tflite
