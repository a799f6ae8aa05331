// recover-group-norm: group normalisation written as instance normalisation of reshaped groups.
//
//   x -> reshape [N,G,-1] -> instance_norm(1, 0) -> reshape as x -> mul(g) -> add(b)
//     -> group_norm(x, g, b) {groups=G}
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

Tensor* channel_constant(Rewriter& rewriter, DType dtype, const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  Tensor* vector =
      rewriter.graph().add_constant<float>("", Shape{static_cast<int64_t>(floats.size())}, floats);
  if (dtype == DType::F32) return vector;
  auto cast = rewriter.add_folded(OpKind::Cast, {vector}, CastAttrs{.to = dtype});
  return cast.ok() ? *cast : nullptr;
}

Result<bool> group_norm(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || op->attrs_as<InstanceNormAttrs>().layout != Layout::ChannelsFirst)
    return false;
  const Operation* split = op->input(0)->producer();
  Operation* join = only_user(op->output());
  if (!is_view(split) || !is_view(join) || !has_single_use(op->input(0))) return false;
  Tensor* x = split->input(0);
  const auto& grouped = op->input(0)->shape();
  if (!x->shape() || !grouped || grouped->rank() != 3 || x->shape()->rank() < 3) return false;
  if (!same_shape(x, join->output()) || !(*x->shape())[0].same_size((*grouped)[0])) return false;
  const Dim groups = (*grouped)[1], channels = (*x->shape())[1];
  if (!groups.is_static() || !channels.is_static() || groups.size() < 1 ||
      channels.size() % groups.size() != 0)
    return false;
  const auto n = static_cast<size_t>(channels.size());
  const auto own_scale = channel_values(op->input(1), 1, 0, groups.size());
  const auto own_bias = channel_values(op->input(2), 1, 0, groups.size());
  if (!own_scale || !own_bias) return false;
  // The groups' own parameters, repeated for their channels.
  std::vector<double> scale(n), bias(n);
  const size_t per_group = n / static_cast<size_t>(groups.size());
  for (size_t i = 0; i < n; ++i) {
    scale[i] = (*own_scale)[i / per_group];
    bias[i] = (*own_bias)[i / per_group];
  }
  Operation* last = join;
  Location location = Rewriter::merged({split, op, join});
  const size_t rank = x->shape()->rank();
  if (Operation* mul = only_user(last->output()); mul != nullptr && mul->kind() == OpKind::Mul) {
    if (const auto values =
            channel_values(other_operand(mul, last->output()), rank, 1, channels.size())) {
      for (size_t i = 0; i < n; ++i) scale[i] *= (*values)[i], bias[i] *= (*values)[i];
      location.merge(mul->location());
      last = mul;
    }
  }
  if (Operation* add = only_user(last->output()); add != nullptr && add->kind() == OpKind::Add) {
    if (const auto values =
            channel_values(other_operand(add, last->output()), rank, 1, channels.size())) {
      for (size_t i = 0; i < n; ++i) bias[i] += (*values)[i];
      location.merge(add->location());
      last = add;
    }
  }
  Tensor* scale_tensor = channel_constant(rewriter, x->dtype(), scale);
  Tensor* bias_tensor = channel_constant(rewriter, x->dtype(), bias);
  if (scale_tensor == nullptr || bias_tensor == nullptr) return false;
  OpSpec spec;
  spec.attrs =
      GroupNormAttrs{.groups = groups.size(), .epsilon = op->attrs_as<InstanceNormAttrs>().epsilon};
  spec.location = std::move(location);
  EC_TRY(const Operation* result,
         rewriter.add_op(OpKind::GroupNorm, {x, scale_tensor, bias_tensor}, std::move(spec)));
  rewriter.replace(last, result->output());
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::InstanceNorm, group_norm, "group_norm"}};

}  // namespace

const PassInfo kRecoverGroupNormPass{
    .name = "recover-group-norm",
    .summary = "Finds group_norm in reshaped instance normalisation.",
    .details =
        "A reshape to [N, groups, rest], instance_norm, the reshape back, and the "
        "parameters per channel behind it.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverGroupNormPass.name, kRules);
    }};

}  // namespace ec::passes
