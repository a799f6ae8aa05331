// Convolutions. Weights become [O, k..., I/groups], quantised along axis 0.
#include <algorithm>

#include "frontend/tflite/table.h"
#include "frontend/tflite/window.h"
#include "ops/rules.h"

namespace ec::tflite {

Status check_window(const OpContext& ctx, std::initializer_list<int32_t> numbers) {
  for (const int32_t number : numbers)
    if (number < 1 || number > rule::kLargest)
      return ctx.fail(Code::BadAttribute,
                      "a stride, dilation or window size is " + std::to_string(number));
  return {};
}

namespace {

// The spatial sizes of weights, dimensions [first, first + count).
Result<std::vector<int64_t>> kernel_of(const OpContext& ctx, const ec::Tensor* weights,
                                       size_t first, size_t count) {
  std::vector<int64_t> kernel;
  for (size_t i = first; i < first + count; ++i) {
    const Dim& dim = (*weights->shape())[i];
    if (!dim.is_static())
      return ctx.fail(Code::DynamicShape, "the size of the weights has to be known");
    if (dim.size() < 1 || dim.size() > (1 << 24))
      return ctx.fail(Code::ShapeMismatch, "the weights are " + weights->type().text());
    kernel.push_back(dim.size());
  }
  return kernel;
}

Status need_rank(const OpContext& ctx, size_t i, size_t wanted) {
  EC_TRY(const size_t rank, ctx.rank(i));
  if (rank == wanted) return {};
  return ctx.fail(Code::ShapeMismatch, "input " + std::to_string(i) + " has " +
                                           std::to_string(rank) + " dimensions, " +
                                           std::to_string(wanted) + " are needed");
}

template <class A>
Status set_activation(const OpContext& ctx, ActivationFunctionType activation, A& attrs) {
  EC_TRY(const FusedActivation fused, fused_activation(ctx, activation));
  attrs.activation = fused.kind;
  attrs.act_alpha = fused.alpha;
  attrs.act_beta = fused.beta;
  attrs.layout = Layout::ChannelsLast;
  return {};
}

Result<int64_t> channels_of(const OpContext& ctx, const ec::Tensor* x) {
  const Dim& dim = x->shape()->dims().back();
  if (dim.is_static()) return dim.size();
  return ctx.fail(Code::DynamicShape, "the number of channels has to be known");
}

Status conv_2d(OpContext& ctx) {
  const auto& options = ctx.options<Conv2DOptions>();
  EC_CHECK_OK(need_rank(ctx, 0, 4));
  EC_CHECK_OK(need_rank(ctx, 1, 4));
  EC_CHECK_OK(check_window(ctx, {options.stride_h(), options.stride_w(),
                                 options.dilation_h_factor(), options.dilation_w_factor()}));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 1, 2));
  EC_TRY(const int64_t channels, channels_of(ctx, ctx.in(0)));
  EC_TRY(const int64_t per_group, channels_of(ctx, ctx.in(1)));
  if (per_group < 1 || channels % per_group != 0)
    return ctx.fail(Code::ShapeMismatch, "weights " + ctx.in(1)->type().text() +
                                             " do not fit an input of " + std::to_string(channels) +
                                             " channels");
  ConvAttrs attrs;
  attrs.strides = {options.stride_h(), options.stride_w()};
  attrs.dilations = {options.dilation_h_factor(), options.dilation_w_factor()};
  attrs.groups = std::max<int64_t>(1, channels / per_group);
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  set_padding(ctx.in(0), options.padding(), kernel, attrs);
  return ctx.finish(OpKind::Conv, {ctx.in(0), ctx.in(1), ctx.in(2)}, attrs);
}

Status depthwise_conv_2d(OpContext& ctx) {
  const auto& options = ctx.options<DepthwiseConv2DOptions>();
  EC_CHECK_OK(need_rank(ctx, 0, 4));
  EC_CHECK_OK(need_rank(ctx, 1, 4));
  EC_CHECK_OK(check_window(ctx, {options.stride_h(), options.stride_w(),
                                 options.dilation_h_factor(), options.dilation_w_factor()}));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 1, 2));
  EC_TRY(const int64_t channels, channels_of(ctx, ctx.in(0)));
  if ((*ctx.in(1)->shape())[0] != Dim(1) || channels < 1)
    return ctx.fail(Code::ShapeMismatch, "depthwise weights are " + ctx.in(1)->type().text() +
                                             "; the first size has to be 1");
  EC_TRY(ec::Tensor * weights, ctx.permuted_input(1, {3, 1, 2, 0}));
  ConvAttrs attrs;
  attrs.strides = {options.stride_h(), options.stride_w()};
  attrs.dilations = {options.dilation_h_factor(), options.dilation_w_factor()};
  attrs.groups = channels;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  set_padding(ctx.in(0), options.padding(), kernel, attrs);
  return ctx.finish(OpKind::Conv, {ctx.in(0), weights, ctx.in(2)}, attrs);
}

Status conv_3d(OpContext& ctx) {
  const auto& options = ctx.options<Conv3DOptions>();
  EC_CHECK_OK(need_rank(ctx, 0, 5));
  EC_CHECK_OK(need_rank(ctx, 1, 5));
  EC_CHECK_OK(check_window(
      ctx, {options.stride_d(), options.stride_h(), options.stride_w(), options.dilation_d_factor(),
            options.dilation_h_factor(), options.dilation_w_factor()}));
  EC_TRY(const std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 0, 3));
  EC_TRY(ec::Tensor * weights, ctx.permuted_input(1, {4, 0, 1, 2, 3}));
  ConvAttrs attrs;
  attrs.strides = {options.stride_d(), options.stride_h(), options.stride_w()};
  attrs.dilations = {options.dilation_d_factor(), options.dilation_h_factor(),
                     options.dilation_w_factor()};
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  set_padding(ctx.in(0), options.padding(), kernel, attrs);
  return ctx.finish(OpKind::Conv, {ctx.in(0), weights, ctx.in(2)}, attrs);
}

// Pads of a transposed convolution from the sizes on both sides, as the gradient of a convolution
// from the output's size to the input's; what the pads leave over comes at the end.
Status set_transposed_padding(const OpContext& ctx, Padding padding,
                              std::span<const int64_t> kernel, std::span<const int64_t> sizes,
                              ConvTransposeAttrs& attrs) {
  const ec::Tensor* x = ctx.in(2);
  const size_t spatial = kernel.size();
  if (sizes.size() != spatial + 2)
    return ctx.fail(Code::ShapeMismatch,
                    "the output shape has " + std::to_string(sizes.size()) + " numbers");
  attrs.pads.assign(2 * spatial, 0);
  attrs.output_padding.assign(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& dim = (*x->shape())[i + 1];
    if (!dim.is_static())
      return ctx.fail(Code::DynamicShape, "the size of the input has to be known");
    const int64_t out = sizes[i + 1], stride = attrs.strides[i];
    if (out < 1 || out > (int64_t{1} << 31))
      return ctx.fail(Code::BadValue, "the output shape has a size of " + std::to_string(out));
    int64_t total = 0;
    if (padding == Padding::SAME)
      total = std::max<int64_t>(0, ((out + stride - 1) / stride - 1) * stride + kernel[i] - out);
    const int64_t begin = total / 2;
    const int64_t end = (dim.size() - 1) * stride + kernel[i] - begin - out;
    attrs.pads[i] = begin;
    attrs.pads[spatial + i] = std::max<int64_t>(0, end);
    attrs.output_padding[i] = std::max<int64_t>(0, -end);
  }
  return {};
}

// The output's sizes when those between batch and channels are known; unknown ones are -1.
std::optional<std::vector<int64_t>> known_output_sizes(const OpContext& ctx, size_t spatial) {
  const ec::Tensor* given = ctx.in(0);
  if (auto sizes = known_ints(given)) return sizes;
  const auto& dims = given->dim_values();
  if (!dims || dims->size() != spatial + 2) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : *dims) sizes.push_back(dim.is_static() ? dim.size() : -1);
  if (std::find(sizes.begin() + 1, sizes.end() - 1, -1) != sizes.end() - 1) return std::nullopt;
  return sizes;
}

// Where the window of the wanted output starts in the whole result, as a list of i64: half of the
// padding of a convolution from the output's size to the input's.
Result<ec::Tensor*> window_starts(OpContext& ctx, ec::Tensor* sizes, Padding padding,
                                  const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& strides) {
  if (padding == Padding::VALID) return ctx.ints(std::vector<int64_t>(kernel.size(), 0));
  std::vector<int64_t> rounding, overlap;
  for (size_t i = 0; i < kernel.size(); ++i) {
    rounding.push_back(strides[i] - 1);
    overlap.push_back(kernel[i] - strides[i]);
  }
  ec::Tensor* stride = ctx.ints(strides);
  EC_TRY(ec::Tensor * steps, ctx.add(OpKind::Add, {sizes, ctx.ints(rounding)}));
  EC_TRY(steps, ctx.add(OpKind::Div, {steps, stride}));
  EC_TRY(ec::Tensor * covered, ctx.add(OpKind::Mul, {steps, stride}));
  EC_TRY(covered, ctx.add(OpKind::Add, {covered, ctx.ints(overlap)}));
  EC_TRY(ec::Tensor * total, ctx.add(OpKind::Sub, {covered, sizes}));
  EC_TRY(total, ctx.add(OpKind::Max, {total, ctx.scalar(DType::I64, 0)}));
  return ctx.add(OpKind::Div, {total, ctx.scalar(DType::I64, 2)});
}

// Sizes that only a run tells: the whole result of an image with one more row and column of zeros,
// which is at least as large as any output that gives this input, and of it the wanted window.
Status computed_sizes(OpContext& ctx, ConvTransposeAttrs attrs, Padding padding,
                      const std::vector<int64_t>& kernel, ec::Tensor* weights) {
  const auto spatial = static_cast<int64_t>(kernel.size());
  ec::Tensor* x = ctx.in(2);
  const auto& quant = x->type().quant;
  std::vector<int64_t> pads(2 * kernel.size() + 4, 0), axes;
  for (int64_t d = 1; d <= spatial; ++d) {
    pads[static_cast<size_t>(spatial + 2 + d)] = 1;
    axes.push_back(d);
  }
  ec::Tensor* zero =
      quant ? ctx.scalar(x->dtype(), static_cast<double>(quant->zero_points[0])) : nullptr;
  EC_TRY(x, ctx.add(OpKind::Pad, {x, ctx.ints(pads), zero}, PadAttrs{}));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::ConvTranspose, {x, weights, ctx.in(3)}, attrs));
  if (is_integer(y->dtype())) ctx.graph().set_quant(y, ctx.out_quant());
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(0));
  EC_TRY(sizes, ctx.add(OpKind::Slice, {sizes, ctx.ints({1}), ctx.ints({spatial + 1})}));
  EC_TRY(ec::Tensor * starts, window_starts(ctx, sizes, padding, kernel, attrs.strides));
  EC_TRY(ec::Tensor * ends, ctx.add(OpKind::Add, {starts, sizes}));
  return ctx.finish(OpKind::Slice, {y, starts, ends, ctx.ints(axes)});
}

Status transposed(OpContext& ctx, ConvTransposeAttrs attrs, Padding padding,
                  ActivationFunctionType activation, std::vector<int64_t> kernel,
                  ec::Tensor* weights) {
  EC_CHECK_OK(set_activation(ctx, activation, attrs));
  if (!is_integer(ctx.dtype(0)))
    return ctx.fail(Code::TypeMismatch, "the output shape has to be a list of integers");
  const auto sizes = known_output_sizes(ctx, kernel.size());
  bool is_known = sizes.has_value();
  for (size_t i = 0; i < kernel.size(); ++i)
    is_known = is_known && (*ctx.in(2)->shape())[i + 1].is_static();
  if (!is_known) return computed_sizes(ctx, std::move(attrs), padding, kernel, weights);
  EC_CHECK_OK(set_transposed_padding(ctx, padding, kernel, *sizes, attrs));
  return ctx.finish(OpKind::ConvTranspose, {ctx.in(2), weights, ctx.in(3)}, attrs);
}

Status transpose_conv(OpContext& ctx) {
  const auto& options = ctx.options<TransposeConvOptions>();
  EC_CHECK_OK(need_rank(ctx, 2, 4));
  EC_CHECK_OK(need_rank(ctx, 1, 4));
  EC_CHECK_OK(check_window(ctx, {options.stride_h(), options.stride_w()}));
  EC_TRY(std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 1, 2));
  EC_TRY(ec::Tensor * weights, ctx.permuted_input(1, {3, 1, 2, 0}));
  ConvTransposeAttrs attrs;
  attrs.strides = {options.stride_h(), options.stride_w()};
  return transposed(ctx, attrs, options.padding(), options.fused_activation_function(),
                    std::move(kernel), weights);
}

Status conv_3d_transpose(OpContext& ctx) {
  const auto& options = ctx.options<Conv3DOptions>();
  EC_CHECK_OK(need_rank(ctx, 2, 5));
  EC_CHECK_OK(need_rank(ctx, 1, 5));
  EC_CHECK_OK(check_window(ctx, {options.stride_d(), options.stride_h(), options.stride_w()}));
  if (options.dilation_d_factor() != 1 || options.dilation_h_factor() != 1 ||
      options.dilation_w_factor() != 1)
    return ctx.unsupported("dilations of a transposed convolution are not supported");
  EC_TRY(std::vector<int64_t> kernel, kernel_of(ctx, ctx.in(1), 0, 3));
  EC_TRY(ec::Tensor * weights, ctx.permuted_input(1, {4, 0, 1, 2, 3}));
  ConvTransposeAttrs attrs;
  attrs.strides = {options.stride_d(), options.stride_h(), options.stride_w()};
  return transposed(ctx, attrs, options.padding(), options.fused_activation_function(),
                    std::move(kernel), weights);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {BuiltinOperator::CONV_2D, {2, 3}, k1, conv_2d},
    {BuiltinOperator::DEPTHWISE_CONV_2D, {2, 3}, k1, depthwise_conv_2d},
    {BuiltinOperator::CONV_3D, {2, 3}, k1, conv_3d},
    {BuiltinOperator::TRANSPOSE_CONV, {3, 4}, k1, transpose_conv},
    {BuiltinOperator::CONV_3D_TRANSPOSE, {3, 4}, k1, conv_3d_transpose},
};

}  // namespace

const std::span<const OpRow> kConvRows = kRows;

}  // namespace ec::tflite
