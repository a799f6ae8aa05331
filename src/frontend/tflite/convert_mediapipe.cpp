// MediaPipe's convolution and pooling operators (mediapipe/util/tflite/operations). Their options
// are the C structures of TFLite's builtin ones.
#include <algorithm>

#include "frontend/tflite/custom.h"
#include "frontend/tflite/window.h"

namespace ec::tflite {
namespace {

// TfLitePadding.
enum : int32_t { kSamePadding = 1, kValidPadding = 2 };

Status need_images(const OpContext& ctx, size_t i) {
  EC_TRY(const size_t rank, ctx.rank(i));
  if (rank == 4 && ctx.dtype(i) == DType::F32) return {};
  return ctx.fail(Code::ShapeMismatch,
                  "images of float32 are needed, not " + ctx.in(i)->type().text());
}

Status need_padding(const OpContext& ctx, int32_t padding) {
  if (padding == kSamePadding || padding == kValidPadding) return {};
  return ctx.fail(Code::BadAttribute, "padding " + std::to_string(padding) + " is not known");
}

// Options: padding, stride_width, stride_height. Inputs: x, weights [O, H, W, I], bias.
Status transpose_conv_bias(OpContext& ctx) {
  EC_TRY(const std::vector<int32_t> words, option_words(ctx, 3));
  EC_CHECK_OK(need_padding(ctx, words[0]));
  EC_CHECK_OK(check_window(ctx, {words[1], words[2]}));
  EC_CHECK_OK(need_images(ctx, 0));
  EC_CHECK_OK(need_images(ctx, 1));
  ConvTransposeAttrs attrs;
  attrs.strides = {words[2], words[1]};
  attrs.layout = Layout::ChannelsLast;
  attrs.pads.assign(4, 0);
  for (size_t i = 0; i < 2 && words[0] == kSamePadding; ++i) {
    const Dim &size = (*ctx.in(0)->shape())[i + 1], &kernel = (*ctx.in(1)->shape())[i + 1];
    if (!size.is_static() || !kernel.is_static())
      return ctx.fail(Code::DynamicShape, "the sizes of image and weights have to be known");
    const int64_t total =
        std::max<int64_t>(0, kernel.size() - (size.size() - 1) % attrs.strides[i] - 1);
    attrs.pads[i] = total / 2;
    attrs.pads[i + 2] = total - total / 2;
  }
  EC_TRY(ec::Tensor * weights, ctx.permuted_input(1, {3, 1, 2, 0}));
  return ctx.finish(OpKind::ConvTranspose, {ctx.in(0), weights, ctx.in(2)}, attrs);
}

// Options: padding, stride_width, stride_height, filter_width, filter_height, activation.
Result<ArgmaxWindowAttrs> window_attrs(const OpContext& ctx, const std::vector<int32_t>& words) {
  EC_CHECK_OK(need_padding(ctx, words[0]));
  EC_CHECK_OK(check_window(ctx, {words[1], words[2], words[3], words[4]}));
  ArgmaxWindowAttrs attrs;
  attrs.padding = words[0] == kSamePadding ? AutoPad::SameUpper : AutoPad::Valid;
  attrs.strides = {words[2], words[1]};
  attrs.kernel = {words[4], words[3]};
  return attrs;
}

Status max_pool_argmax(OpContext& ctx) {
  EC_TRY(const std::vector<int32_t> words, option_words(ctx, 6));
  EC_TRY(const ArgmaxWindowAttrs attrs, window_attrs(ctx, words));
  EC_CHECK_OK(need_images(ctx, 0));
  if (words[5] < 0 || words[5] > static_cast<int32_t>(ActivationFunctionType::RELU6))
    return ctx.unsupported("fused activation " + std::to_string(words[5]) + " is not supported");
  EC_TRY(Operation * op, ctx.add_op(OpKind::MaxPoolArgmax, {ctx.in(0)}, attrs, 2));
  EC_CHECK_OK(ctx.set_activated(op->output(0), static_cast<ActivationFunctionType>(words[5])));
  return ctx.set(1, op->output(1));
}

Status max_unpool_argmax(OpContext& ctx) {
  EC_TRY(const std::vector<int32_t> words, option_words(ctx, 5));
  EC_TRY(const ArgmaxWindowAttrs attrs, window_attrs(ctx, words));
  EC_CHECK_OK(need_images(ctx, 0));
  EC_CHECK_OK(need_images(ctx, 1));
  return ctx.finish(OpKind::MaxUnpoolArgmax, {ctx.in(0), ctx.in(1)}, attrs);
}

constexpr CustomRow kRows[] = {
    {"Convolution2DTransposeBias", {3, 3}, {1, 1}, transpose_conv_bias},
    {"MaxPoolingWithArgmax2D", {1, 1}, {2, 2}, max_pool_argmax},
    {"MaxUnpooling2D", {2, 2}, {1, 1}, max_unpool_argmax},
};

}  // namespace

const std::span<const CustomRow> kMediapipeRows = kRows;

}  // namespace ec::tflite
