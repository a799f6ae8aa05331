// Attributes that convolutions and pools share.
#pragma once

#include "frontend/onnx/node_context.h"

namespace ec::onnx {

// auto_pad, strides, dilations and pads; pads are all begins, then all ends in both worlds.
template <class A>
void read_window(NodeContext& ctx, A& attrs) {
  constexpr std::string_view kModes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  attrs.auto_pad = static_cast<AutoPad>(ctx.attr_choice("auto_pad", kModes, 0));
  attrs.strides = ctx.attr_ints("strides");
  attrs.dilations = ctx.attr_ints("dilations");
  attrs.pads = ctx.attr_ints("pads");
  if (attrs.auto_pad != AutoPad::Explicit) attrs.pads.clear();
}

// The attributes of Conv and its relatives; the kernel's shape is the weights'.
ConvAttrs conv_attrs(NodeContext& ctx);
// Faults a kernel_shape attribute that contradicts the weights.
Status check_kernel_shape(NodeContext& ctx, const ec::Tensor* weights);

}  // namespace ec::onnx
