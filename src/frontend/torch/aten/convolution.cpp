// Convolutions.
#include "frontend/torch/aten/convolution.h"

#include <algorithm>

#include "frontend/torch/aten/table.h"
#include "support/checked.h"

namespace ec::torch {
namespace {

Ints twice(const Ints& pads) {
  Ints both = pads;
  both.insert(both.end(), pads.begin(), pads.end());
  return both;
}

// Without a batch dimension the operators take one sample.
struct Batched {
  ec::Tensor* x = nullptr;
  bool added = false;
};

Result<Batched> with_batch(Call& c, ec::Tensor* x, size_t spatial) {
  if (c.rank(x) != static_cast<int64_t>(spatial) + 1) return Batched{x, false};
  EC_TRY(ec::Tensor * batched, c.unsqueeze(x, {0}));
  return Batched{batched, true};
}

size_t spatial_rank(Call& c, const ec::Tensor* weight) {
  const int64_t rank = c.rank(weight);
  if (rank < 3) {
    c.remember(c.fail(Code::ShapeMismatch,
                      "weights " + weight->type().text() + " have no spatial dimensions"));
    return 1;
  }
  return static_cast<size_t>(rank - 2);
}

Result<ec::Tensor*> finish(Call& c, Result<ec::Tensor*> y, bool added) {
  if (!y.ok() || !added) return y;
  return c.squeeze(*y, {0});
}

Result<ec::Tensor*> plain(Call& c) {
  const size_t spatial = spatial_rank(c, c.tensor("weight"));
  ConvAttrs attrs;
  attrs.strides = c.ints("stride", spatial);
  attrs.dilations = c.ints("dilation", spatial);
  attrs.pads = twice(c.ints("padding", spatial));
  attrs.groups = c.integer("groups");
  return convolve(c, c.tensor("input"), c.tensor("weight"), c.tensor("bias"), attrs);
}

// padding="same": the smaller half of the padding comes first; "valid": none.
Result<ec::Tensor*> by_mode(Call& c) {
  ec::Tensor* weight = c.tensor("weight");
  const size_t spatial = spatial_rank(c, weight);
  ConvAttrs attrs;
  attrs.strides = c.ints("stride", spatial);
  attrs.dilations = c.ints("dilation", spatial);
  attrs.groups = c.integer("groups");
  attrs.pads.resize(2 * spatial);
  const std::string mode = c.text("padding");
  if (mode != "same" && mode != "valid") return c.unsupported("padding '" + mode + "'");
  if (mode == "same")
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t reach = c.size(weight, static_cast<int64_t>(i) + 2) - 1;
      if (attrs.dilations[i] < 1 ||
          attrs.dilations[i] > kMaxTensorBytes / std::max<int64_t>(reach, 1))
        return c.fail(Code::BadValue, "a dilation does not fit the weights");
      const int64_t total = attrs.dilations[i] * reach;
      attrs.pads[i] = total / 2;
      attrs.pads[spatial + i] = total - total / 2;
    }
  return convolve(c, c.tensor("input"), weight, c.tensor("bias"), attrs);
}

Result<ec::Tensor*> transposed(Call& c) {
  const size_t spatial = spatial_rank(c, c.tensor("weight"));
  ConvTransposeAttrs attrs;
  attrs.strides = c.ints("stride", spatial);
  attrs.dilations = c.ints("dilation", spatial);
  attrs.pads = twice(c.ints("padding", spatial));
  attrs.output_padding = c.ints("output_padding", spatial);
  attrs.groups = c.integer("groups");
  return convolve_transposed(c, c.tensor("input"), c.tensor("weight"), c.tensor("bias"), attrs);
}

Result<ec::Tensor*> general(Call& c) { return c.boolean("transposed") ? transposed(c) : plain(c); }

constexpr OperatorRow kRows[] = {
    {"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
     "int[1] padding=0, int[1] dilation=1, int groups=1) -> Tensor",
     plain},
    {"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
     "str padding=\"valid\", int[1] dilation=1, int groups=1) -> Tensor",
     by_mode},
    {"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
     "int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor",
     plain},
    {"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
     "str padding=\"valid\", int[2] dilation=1, int groups=1) -> Tensor",
     by_mode},
    {"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
     "int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor",
     plain},
    {"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
     "str padding=\"valid\", int[3] dilation=1, int groups=1) -> Tensor",
     by_mode},
    {"aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, "
     "str padding, int[] dilation, int groups) -> Tensor",
     by_mode},
    {"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
     "int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) -> Tensor",
     transposed},
    {"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
     "int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, "
     "int[2] dilation=1) -> Tensor",
     transposed},
    {"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, "
     "int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, "
     "int[3] dilation=1) -> Tensor",
     transposed},
    {"aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
     "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
     general},
    {"aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
     "int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, "
     "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
     general},
    {"aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, "
     "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
     "bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
     general},
};

}  // namespace

Result<ec::Tensor*> convolve(Call& c, ec::Tensor* x, ec::Tensor* weight, ec::Tensor* bias,
                             const ConvAttrs& attrs) {
  EC_TRY(const Batched batched, with_batch(c, x, attrs.strides.size()));
  Tensors operands = {batched.x, weight};
  if (bias != nullptr) operands.push_back(bias);
  return finish(c, c.add(OpKind::Conv, std::move(operands), attrs), batched.added);
}

Result<ec::Tensor*> convolve_transposed(Call& c, ec::Tensor* x, ec::Tensor* weight,
                                        ec::Tensor* bias, const ConvTransposeAttrs& attrs) {
  EC_TRY(const Batched batched, with_batch(c, x, attrs.strides.size()));
  Tensors operands = {batched.x, weight};
  if (bias != nullptr) operands.push_back(bias);
  return finish(c, c.add(OpKind::ConvTranspose, std::move(operands), attrs), batched.added);
}

const std::span<const OperatorRow> kConvolutionRows = kRows;

}  // namespace ec::torch
