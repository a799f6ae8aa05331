// Padding of convolutions and pools: the file says SAME or VALID, the IR wants sizes.
#pragma once

#include "frontend/tflite/op_context.h"

namespace ec::tflite {

// Sets pads for the spatial dimensions 1... of x; where a size is open, the rule stays.
template <class A>
void set_padding(const ec::Tensor* x, Padding padding, std::span<const int64_t> kernel, A& attrs) {
  attrs.auto_pad = padding == Padding::SAME ? AutoPad::SameUpper : AutoPad::Valid;
  const size_t spatial = kernel.size();
  std::vector<int64_t> pads(2 * spatial, 0);
  for (size_t i = 0; i < spatial && padding == Padding::SAME; ++i) {
    if (!x->shape() || !(*x->shape())[i + 1].is_static()) return;
    const int64_t in = (*x->shape())[i + 1].size();
    const int64_t stride = attrs.strides[i];
    const int64_t reach = (kernel[i] - 1) * attrs.dilations[i] + 1;
    const int64_t out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
    pads[i] = total / 2;
    pads[spatial + i] = total - total / 2;
  }
  attrs.auto_pad = AutoPad::Explicit;
  attrs.pads = std::move(pads);
}

// Strides, dilations and windows come from the file: positive, and small enough to multiply.
Status check_window(const OpContext& ctx, std::initializer_list<int32_t> numbers);

}  // namespace ec::tflite
