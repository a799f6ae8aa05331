// Convolutions.
#include <algorithm>

#include "frontend/onnx/table.h"
#include "frontend/onnx/window.h"

namespace ec::onnx {

ConvAttrs conv_attrs(NodeContext& ctx) {
  ConvAttrs attrs;
  read_window(ctx, attrs);
  attrs.groups = ctx.attr_int("group", 1);
  return attrs;
}

Status check_kernel_shape(NodeContext& ctx, const ec::Tensor* weights) {
  const std::vector<int64_t> kernel = ctx.attr_ints("kernel_shape");
  if (kernel.empty() || !weights->shape()) return {};
  const Shape& shape = *weights->shape();
  bool fits = shape.rank() == kernel.size() + 2;
  for (size_t i = 0; fits && i < kernel.size(); ++i)
    fits = !shape[i + 2].is_static() || shape[i + 2].size() == kernel[i];
  if (fits) return {};
  return ctx.fail(Code::ShapeMismatch,
                  "attribute 'kernel_shape' does not fit the weights " + weights->type().text());
}

namespace {

Status conv(NodeContext& ctx) {
  const ConvAttrs attrs = conv_attrs(ctx);
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(1)));
  return ctx.finish(OpKind::Conv, ctx.tensors(), attrs);
}

Status conv_transpose(NodeContext& ctx) {
  ConvTransposeAttrs attrs;
  read_window(ctx, attrs);
  attrs.groups = ctx.attr_int("group", 1);
  attrs.output_padding = ctx.attr_ints("output_padding");
  attrs.output_sizes = ctx.attr_ints("output_shape");
  // Old exporters wrote the batch and channel sizes, too.
  if (ctx.in(0)->shape() && attrs.output_sizes.size() > 2 &&
      attrs.output_sizes.size() == ctx.in(0)->shape()->rank())
    attrs.output_sizes.erase(attrs.output_sizes.begin(), attrs.output_sizes.begin() + 2);
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(1)));
  return ctx.finish(OpKind::ConvTranspose, ctx.tensors(), attrs);
}

Status deform_conv(NodeContext& ctx) {
  DeformConvAttrs attrs;
  attrs.strides = ctx.attr_ints("strides");
  attrs.dilations = ctx.attr_ints("dilations");
  attrs.pads = ctx.attr_ints("pads");
  attrs.groups = ctx.attr_int("group", 1);
  attrs.offset_groups = ctx.attr_int("offset_group", 1);
  EC_CHECK_OK(check_kernel_shape(ctx, ctx.in(1)));
  return ctx.finish(OpKind::DeformConv, ctx.tensors(), attrs);
}

Status col2im(NodeContext& ctx) {
  Col2ImAttrs attrs;
  attrs.strides = ctx.attr_ints("strides");
  attrs.dilations = ctx.attr_ints("dilations");
  attrs.pads = ctx.attr_ints("pads");
  return ctx.finish(OpKind::Col2Im, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"Conv", 1, kLatest, {2, 3}, k1, conv},
    {"ConvTranspose", 1, kLatest, {2, 3}, k1, conv_transpose},
    {"DeformConv", 19, kLatest, {3, 5}, k1, deform_conv},
    {"Col2Im", 18, kLatest, {3, 3}, k1, col2im},
};

}  // namespace

const std::span<const OpRow> kConvRows = kRows;

}  // namespace ec::onnx
