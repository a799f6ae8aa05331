// Normalisations as sums over their dimensions.
#include <algorithm>

#include "backend/tflite/passes/rules.h"
#include "ops/window.h"
#include "passes/replacement.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

// (x - mean) / sqrt(var + epsilon) over the axes.
Tensor* standardised(Replacement& p, Tensor* x, const std::vector<int64_t>& axes, double epsilon) {
  Tensor* centred = p.sub(x, p.reduce(OpKind::ReduceMean, x, axes));
  Tensor* variance = p.reduce(OpKind::ReduceMean, p.mul(centred, centred), axes);
  return p.mul(centred, p.unary(OpKind::Rsqrt, p.add(variance, epsilon)));
}

bool is_identity_parameter(const Tensor* parameter, double value) {
  return parameter == nullptr || is_splat(parameter, value);
}

Tensor* scaled(Replacement& p, Tensor* x, Tensor* scale, Tensor* bias) {
  if (!is_identity_parameter(scale, 1)) x = p.mul(x, scale);
  if (!is_identity_parameter(bias, 0)) x = p.add(x, bias);
  return x;
}

std::vector<int64_t> axes_from(int64_t axis, size_t rank) {
  std::vector<int64_t> axes;
  for (int64_t a = positive_axis(axis, rank); a < static_cast<int64_t>(rank); ++a)
    axes.push_back(a);
  return axes;
}

// Results beyond the first (mean, deviation) are for training only.
bool has_one_result(const Operation* op) {
  for (size_t i = 1; i < op->outputs().size(); ++i)
    if (!op->graph().is_unused(op->output(i))) return false;
  return true;
}

Result<bool> expand_layer_norm(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0)) || !has_one_result(op)) return false;
  const auto& attrs = op->attrs_as<LayerNormAttrs>();
  Replacement p(r, op);
  Tensor* x = standardised(p, op->input(0), axes_from(attrs.axis, *rank_of(op->input(0))),
                           double{attrs.epsilon});
  return p.replace(scaled(p, x, op->input(1), op->input(2)));
}

Result<bool> expand_rms_norm(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0)) || !has_one_result(op)) return false;
  const auto& attrs = op->attrs_as<LayerNormAttrs>();
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const auto axes = axes_from(attrs.axis, *rank_of(x));
  Tensor* square = p.reduce(OpKind::ReduceMean, p.mul(x, x), axes);
  x = p.mul(x, p.unary(OpKind::Rsqrt, p.add(square, double{attrs.epsilon})));
  return p.replace(scaled(p, x, op->input(1), nullptr));
}

// A parameter per channel in the shape that broadcasts along the channels of x.
Tensor* along_channels(Replacement& p, Tensor* parameter, Layout layout, size_t rank) {
  if (parameter == nullptr || layout == Layout::ChannelsLast) return parameter;
  std::vector<int64_t> sizes(rank - 1, 1);
  sizes[0] = -1;
  return p.sized(parameter, sizes);
}

Result<bool> expand_instance_norm(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0))) return false;
  const auto& attrs = op->attrs_as<InstanceNormAttrs>();
  const size_t rank = *rank_of(op->input(0));
  std::vector<int64_t> axes;
  for (size_t d = 0; d + 2 < rank; ++d)
    axes.push_back(static_cast<int64_t>(spatial_axis(attrs.layout, d)));
  Replacement p(r, op);
  Tensor* x = standardised(p, op->input(0), axes, double{attrs.epsilon});
  Tensor* scale = along_channels(p, op->input(1), attrs.layout, rank);
  Tensor* bias = along_channels(p, op->input(2), attrs.layout, rank);
  return p.replace(scaled(p, x, scale, bias));
}

// [N, spatial..., C] as [N, spatial, groups, C / groups]; channels first likewise.
Result<bool> expand_group_norm(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<GroupNormAttrs>();
  const auto sizes = static_shape(op->input(0));
  if (has_quant(op) || !sizes || attrs.groups < 1) return false;
  const size_t rank = sizes->size();
  const bool last = attrs.layout == Layout::ChannelsLast;
  const int64_t channels = (*sizes)[last ? rank - 1 : 1];
  int64_t area = 1;
  for (size_t d = 0; d + 2 < rank; ++d) area *= (*sizes)[spatial_axis(attrs.layout, d)];
  const int64_t each = channels / attrs.groups;
  Replacement p(r, op);
  Tensor* x = nullptr;
  if (last && each == channels) {
    x = standardised(p, op->input(0), axes_from(1, rank), double{attrs.epsilon});
  } else {
    Tensor* grouped =
        last ? p.sized(op->input(0), std::vector<int64_t>{(*sizes)[0], area, attrs.groups, each})
             : p.sized(op->input(0), std::vector<int64_t>{(*sizes)[0], attrs.groups, each * area});
    x = standardised(p, grouped, last ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{2},
                     double{attrs.epsilon});
    x = p.sized(x, *sizes);
  }
  Tensor* scale = along_channels(p, op->input(1), attrs.layout, rank);
  Tensor* bias = along_channels(p, op->input(2), attrs.layout, rank);
  return p.replace(scaled(p, x, scale, bias));
}

Result<bool> expand_batch_norm(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0)) || !has_one_result(op)) return false;
  const auto& attrs = op->attrs_as<BatchNormAttrs>();
  if (attrs.training) return false;
  const size_t rank = *rank_of(op->input(0));
  // Tensors of one or two dimensions have their channels last either way.
  const Layout layout = rank < 3 ? Layout::ChannelsLast : attrs.layout;
  Replacement p(r, op);
  if (const auto affine = batch_norm_affine(op)) {
    const auto channels = static_cast<int64_t>(affine->scale.size());
    const std::vector<float> scale(affine->scale.begin(), affine->scale.end());
    const std::vector<float> shift(affine->shift.begin(), affine->shift.end());
    Tensor* a = along_channels(p, p.floats(Shape{channels}, scale), layout, rank);
    Tensor* b = along_channels(p, p.floats(Shape{channels}, shift), layout, rank);
    return p.replace(p.add(p.mul(op->input(0), a), b));
  }
  // batch_norm(x, scale, bias, mean, variance) with computed parameters.
  Tensor* factor =
      p.mul(op->input(1), p.unary(OpKind::Rsqrt, p.add(op->input(4), double{attrs.epsilon})));
  Tensor* shift = p.sub(op->input(2), p.mul(op->input(3), factor));
  Tensor* a = along_channels(p, factor, layout, rank);
  Tensor* b = along_channels(p, shift, layout, rank);
  return p.replace(p.add(p.mul(op->input(0), a), b));
}

Result<bool> expand_lp_norm(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<LpNormAttrs>();
  if (has_quant(op) || !rank_of(op->input(0)) || (attrs.p != 1 && attrs.p != 2)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const std::vector<int64_t> axes{positive_axis(attrs.axis, *rank_of(x))};
  Tensor* norm = attrs.p == 1
                     ? p.reduce(OpKind::ReduceSum, p.unary(OpKind::Abs, x), axes)
                     : p.unary(OpKind::Sqrt, p.reduce(OpKind::ReduceSum, p.mul(x, x), axes));
  // A vector of zeros stays one.
  return p.replace(p.div(x, p.max(norm, 1e-30)));
}

constexpr RewriteRule kRules[] = {
    {OpKind::LayerNorm, expand_layer_norm, "normalisations"},
    {OpKind::RmsNorm, expand_rms_norm, "normalisations"},
    {OpKind::InstanceNorm, expand_instance_norm, "normalisations"},
    {OpKind::GroupNorm, expand_group_norm, "normalisations"},
    {OpKind::BatchNorm, expand_batch_norm, "normalisations"},
    {OpKind::LpNorm, expand_lp_norm, "normalisations"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteNorms = kRules;

}  // namespace ec::passes
