// Normalisations in forms that programs do not take.
#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

bool are_constant(const Operation* op, size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i)
    if (op->input(i) != nullptr && !is_constant(op->input(i))) return false;
  return true;
}

Result<bool> lower_batch_norm(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  const auto& attrs = op->attrs_as<BatchNormAttrs>();
  if (!rank || attrs.training || has_quant(op)) return false;
  if (*rank >= 3 && *rank <= 5 && are_constant(op, 1, 4)) return false;
  return apply_formula(r, op);
}

Result<bool> lower_instance_norm(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!rank || has_quant(op)) return false;
  if (*rank >= 3 && *rank <= 4 && are_constant(op, 1, 2)) return false;
  return apply_formula(r, op);
}

// Scales and biases that are computed, or repeated along x, behind the normalisation.
Result<bool> lower_layer_norm(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<LayerNormAttrs>();
  const auto rank = rank_of(op->input(0));
  if (!rank || has_quant(op) || (op->input(1) == nullptr && op->input(2) == nullptr)) return false;
  for (size_t i = 1; i < op->outputs().size(); ++i)
    if (!r.graph().is_unused(op->output(i))) return apply_formula(r, op);
  const auto axis = static_cast<size_t>(positive_axis(attrs.axis, *rank));
  // Sizes in front of those that are normalised may be open.
  const std::vector<Dim>& dims = op->input(0)->shape()->dims();
  const Shape wanted(
      std::vector<Dim>(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end()));
  bool fits = wanted.is_static();
  for (size_t i = 1; i <= 2 && fits; ++i) {
    const Tensor* parameter = op->input(i);
    if (parameter != nullptr) fits = is_constant(parameter) && *parameter->shape() == wanted;
  }
  if (fits) return false;
  Replacement p(r, op);
  Tensor* y = p.op(OpKind::LayerNorm, {op->input(0)}, attrs);
  if (op->input(1) != nullptr) y = p.mul(y, op->input(1));
  if (op->input(2) != nullptr) y = p.add(y, op->input(2));
  return p.replace(y);
}

// The same with open sizes: the rows' length is what is left, and x tells its shape again.
Result<bool> lower_open_group_norm(Replacement& p, const Operation* op, size_t rank) {
  const auto& attrs = op->attrs_as<GroupNormAttrs>();
  Tensor* x = op->input(0);
  const int64_t by_group[] = {0, attrs.groups, -1};
  Tensor* rows = p.op(OpKind::Reshape, {x, p.ints(by_group)}, ReshapeAttrs{});
  Tensor* y = p.op(OpKind::LayerNorm, {rows}, LayerNormAttrs{.axis = 2, .epsilon = attrs.epsilon});
  y = p.op(OpKind::Reshape, {y, p.op(OpKind::Shape, {x}, ShapeAttrs{})}, ReshapeAttrs{});
  std::vector<int64_t> by_channel(rank - 1, 1);
  by_channel[0] = -1;
  y = p.mul(y, p.sized(op->input(1), by_channel));
  return p.replace(p.add(y, p.sized(op->input(2), by_channel)));
}

// Each group as one row, normalised; scale and bias by channel behind.
Result<bool> lower_group_norm(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<GroupNormAttrs>();
  const auto rank = rank_of(op->input(0));
  if (!rank || has_quant(op) || attrs.layout != Layout::ChannelsFirst || *rank < 2)
    return apply_formula(r, op);
  Replacement p(r, op);
  const auto shape = static_shape(op->input(0));
  if (!shape) return lower_open_group_norm(p, op, *rank);
  Tensor* rows = p.sized(op->input(0), {(*shape)[0], attrs.groups, -1});
  Tensor* y = p.op(OpKind::LayerNorm, {rows}, LayerNormAttrs{.axis = 2, .epsilon = attrs.epsilon});
  y = p.sized(y, *shape);
  std::vector<int64_t> by_channel(shape->size() - 1, 1);
  by_channel[0] = (*shape)[1];
  y = p.mul(y, p.sized(op->input(1), by_channel));
  return p.replace(p.add(y, p.sized(op->input(2), by_channel)));
}

constexpr RewriteRule kRules[] = {
    {OpKind::BatchNorm, lower_batch_norm, "normalisations"},
    {OpKind::InstanceNorm, lower_instance_norm, "normalisations"},
    {OpKind::LayerNorm, lower_layer_norm, "normalisations"},
    {OpKind::GroupNorm, lower_group_norm, "normalisations"},
};

}  // namespace

const std::span<const RewriteRule> kMilNorms = kRules;

}  // namespace ec::passes
