// recover-norms: normalisations that exporters wrote as arithmetic.
//
//   d = x - mean(x);  d / sqrt(mean(d * d) + eps) * g + b  ->  layer_norm(x, g, b)
//   x / sqrt(mean(x * x) + eps) * g                        ->  rms_norm(x, g)
//   x / max(norm(x), eps)                                  ->  lp_norm(x)
#include <algorithm>

#include "passes/match.h"
#include "passes/permute.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

// v + eps with a small constant.
struct Variance {
  Tensor* value = nullptr;  // without eps
  double epsilon = 0;
  const Operation* sum = nullptr;
};
std::optional<Variance> variance_of(Tensor* tensor) {
  const Operation* sum = produced_by(tensor, OpKind::Add);
  const WithScalar match = sum != nullptr ? with_scalar(sum) : WithScalar{};
  if (!match || !(match.value > 0) || match.value > 0.1) return std::nullopt;
  return Variance{match.x, match.value, sum};
}

// The deviation that a tensor is divided by: sqrt(v + eps), or the factor 1 / sqrt(v + eps).
std::optional<Variance> deviation_of(Tensor* tensor, bool inverted) {
  const Operation* op = tensor->producer();
  if (op == nullptr) return std::nullopt;
  if (!inverted) return op->kind() == OpKind::Sqrt ? variance_of(op->input(0)) : std::nullopt;
  if (op->kind() == OpKind::Rsqrt) return variance_of(op->input(0));
  if (op->kind() == OpKind::Reciprocal) return deviation_of(op->input(0), false);
  if (op->kind() == OpKind::Div && is_splat(op->input(0), 1))
    return deviation_of(op->input(1), false);
  if (op->kind() == OpKind::Pow && is_splat(op->input(1), -0.5)) return variance_of(op->input(0));
  return std::nullopt;
}

// The base of mean(base^2) or mean((base - from)^2) and the axes of the mean, which keeps its
// dimensions.
struct MeanSquare {
  Tensor* base = nullptr;
  std::vector<int64_t> axes;
  Tensor* from = nullptr;
};
std::optional<MeanSquare> mean_square_of(const Tensor* tensor) {
  const Operation* mean = produced_by(tensor, OpKind::ReduceMean);
  if (mean == nullptr || !mean->attrs_as<ReduceAttrs>().keep_dims) return std::nullopt;
  const auto axes = reduce_axes(mean);
  if (!axes || axes->empty()) return std::nullopt;
  const Operation* square = mean->input(0)->producer();
  if (square == nullptr) return std::nullopt;
  if (square->kind() == OpKind::Mul && square->input(0) == square->input(1))
    return MeanSquare{square->input(0), *axes};
  if (square->kind() == OpKind::Pow && is_splat(square->input(1), 2))
    return MeanSquare{square->input(0), *axes};
  if (square->kind() == OpKind::SquaredDifference)
    return MeanSquare{square->input(0), *axes, square->input(1)};
  return std::nullopt;
}

// Whether the tensor is the mean of x along the axes, with its dimensions kept.
bool is_mean(const Tensor* tensor, const Tensor* x, const std::vector<int64_t>& axes) {
  const Operation* mean = produced_by(tensor, OpKind::ReduceMean);
  return mean != nullptr && mean->input(0) == x && mean->attrs_as<ReduceAttrs>().keep_dims &&
         reduce_axes(mean) == axes;
}

// x of x - mean(x) along the axes.
Tensor* centred(const Tensor* deviation, const std::vector<int64_t>& axes) {
  const Operation* sub = produced_by(deviation, OpKind::Sub);
  return sub != nullptr && is_mean(sub->input(1), sub->input(0), axes) ? sub->input(0) : nullptr;
}

// x of the variance of x along the square's axes.
Tensor* spread_of(const MeanSquare& square) {
  if (square.from == nullptr) return centred(square.base, square.axes);
  return is_mean(square.from, square.base, square.axes) ? square.base : nullptr;
}

// The parameters of a normalisation over `axes` as one tensor per normalised dimension list, or
// nothing when the constant varies along other dimensions. `last` are x's dimensions at the end.
bool is_parameter(const Tensor* constant, const Shape& x, const std::vector<int64_t>& axes) {
  if (!is_constant(constant) || !is_float(constant->dtype())) return false;
  const Shape& shape = *constant->shape();
  if (shape.rank() > x.rank()) return false;
  const size_t skip = x.rank() - shape.rank();
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim dim = i < skip ? Dim(1) : shape[i - skip];
    const bool normalised =
        std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (normalised ? dim != x[i] : dim != Dim(1)) return false;
  }
  return true;
}

struct Norm {
  OpKind kind = OpKind::LayerNorm;
  Tensor* x = nullptr;
  std::vector<int64_t> axes;
  double epsilon = 0;
  Tensor* scale = nullptr;  // as given: broadcast to x
  Tensor* bias = nullptr;
  Operation* last = nullptr;  // its result is replaced
  Location location;
};

// Multiplication and addition by parameters right behind the normalised value.
void take_parameters(Norm& norm) {
  const Shape& shape = *norm.x->shape();
  if (Operation* mul = only_user(norm.last->output());
      mul != nullptr && mul->kind() == OpKind::Mul && !has_quant(mul)) {
    Tensor* scale = other_operand(mul, norm.last->output());
    if (is_parameter(scale, shape, norm.axes)) {
      norm.scale = scale;
      norm.last = mul;
      norm.location.merge(mul->location());
    }
  }
  if (norm.kind == OpKind::RmsNorm) return;
  if (Operation* add = only_user(norm.last->output());
      add != nullptr && add->kind() == OpKind::Add && !has_quant(add)) {
    Tensor* bias = other_operand(add, norm.last->output());
    if (is_parameter(bias, shape, norm.axes)) {
      norm.bias = bias;
      norm.last = add;
      norm.location.merge(add->location());
    }
  }
}

// Parameters reshaped to the normalised dimensions alone.
Result<Tensor*> compact(Rewriter& rewriter, Tensor* parameter, const Norm& norm) {
  if (parameter == nullptr) return nullptr;
  std::vector<int64_t> sizes;
  for (const int64_t axis : norm.axes)
    sizes.push_back((*norm.x->shape())[static_cast<size_t>(axis)].size());
  if (parameter->shape()->is_static() && parameter->shape()->sizes() == sizes) return parameter;
  return rewriter.add_folded(OpKind::Reshape, {parameter, rewriter.ints(sizes)}, ReshapeAttrs{});
}

// Adds the operation; where the normalised dimensions are not the last ones, between transposes.
Result<bool> write_norm(Rewriter& rewriter, Norm norm) {
  const size_t rank = norm.x->shape()->rank();
  EC_TRY(Tensor * scale, compact(rewriter, norm.scale, norm));
  EC_TRY(Tensor * bias, compact(rewriter, norm.bias, norm));
  Perm perm;
  for (size_t i = 0; i < rank; ++i)
    if (std::find(norm.axes.begin(), norm.axes.end(), static_cast<int64_t>(i)) == norm.axes.end())
      perm.push_back(static_cast<int64_t>(i));
  perm.insert(perm.end(), norm.axes.begin(), norm.axes.end());
  EC_TRY(Tensor * x, add_transposed(rewriter, norm.x, perm, {norm.last}));
  std::vector<Tensor*> inputs{x};
  if (scale != nullptr || bias != nullptr) inputs.push_back(scale);
  if (bias != nullptr) inputs.push_back(bias);
  OpSpec spec;
  spec.location = std::move(norm.location);
  spec.attrs = LayerNormAttrs{.axis = static_cast<int64_t>(rank - norm.axes.size()),
                              .epsilon = static_cast<float>(norm.epsilon)};
  EC_TRY(const Operation* op, rewriter.add_op(norm.kind, std::move(inputs), std::move(spec)));
  EC_TRY(Tensor * result, add_transposed(rewriter, op->output(), inverse(perm), {norm.last}));
  rewriter.replace(norm.last, result);
  return true;
}

bool is_usable(const Norm& norm) {
  if (!norm.x->shape() || !is_float(norm.x->dtype())) return false;
  const Shape& shape = *norm.x->shape();
  for (const int64_t axis : norm.axes)
    if (!shape[static_cast<size_t>(axis)].is_static()) return false;
  // A permuted form pays only for the usual one: channels first.
  const bool trailing =
      norm.axes.front() == static_cast<int64_t>(shape.rank() - norm.axes.size()) &&
      norm.axes.back() == static_cast<int64_t>(shape.rank()) - 1;
  return trailing || (norm.axes == std::vector<int64_t>{1} && shape.rank() > 2);
}

// d / sqrt(mean(d^2) + eps), d * rsqrt(mean(d^2) + eps), ...
Result<bool> divided_by_deviation(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  const bool divides = op->kind() == OpKind::Div;
  for (size_t side = 0; side < (divides ? 1 : 2); ++side) {
    Tensor* deviation = op->input(side);
    const auto variance = deviation_of(op->input(1 - side), !divides);
    if (!variance) continue;
    const auto square = mean_square_of(variance->value);
    if (!square) continue;
    Norm norm;
    norm.axes = square->axes;
    norm.epsilon = variance->epsilon;
    norm.x = centred(deviation, square->axes);
    if (square->from != nullptr ? norm.x == nullptr || spread_of(*square) != norm.x
                                : square->base != deviation)
      continue;
    if (norm.x == nullptr) {
      norm.kind = OpKind::RmsNorm;
      norm.x = deviation;
    }
    norm.last = op;
    norm.location = Rewriter::merged({deviation->producer(), op});
    if (norm.kind == OpKind::RmsNorm) norm.location = op->location();
    if (!is_usable(norm)) continue;
    take_parameters(norm);
    return write_norm(rewriter, std::move(norm));
  }
  return false;
}

// What is added to x * m: beta - mean * m, or -mean * m + beta, with or without beta.
struct Shift {
  Tensor* mean = nullptr;
  Tensor* bias = nullptr;
};
std::optional<Shift> shift_by(const Tensor* tensor, const Tensor* multiplier) {
  const auto mean_of = [&](const Tensor* product, bool negated) -> Tensor* {
    const Operation* mul = produced_by(product, OpKind::Mul);
    if (mul == nullptr || !has_single_use(mul->output())) return nullptr;
    for (size_t side = 0; side < 2; ++side) {
      if (mul->input(1 - side) != multiplier) continue;
      if (!negated) return mul->input(side);
      if (const Operation* neg = produced_by(mul->input(side), OpKind::Neg)) return neg->input(0);
    }
    return nullptr;
  };
  if (Tensor* mean = mean_of(tensor, true)) return Shift{mean, nullptr};
  const Operation* op = tensor->producer();
  if (op == nullptr || op->inputs().size() != 2 || !has_single_use(op->output()))
    return std::nullopt;
  if (op->kind() == OpKind::Sub)
    if (Tensor* mean = mean_of(op->input(1), false)) return Shift{mean, op->input(0)};
  if (op->kind() == OpKind::Add)
    for (size_t side = 0; side < 2; ++side)
      if (Tensor* mean = mean_of(op->input(side), true)) return Shift{mean, op->input(1 - side)};
  return std::nullopt;
}

// The norm that x * multiplier + shift is, before its last operation is known.
std::optional<Norm> expanded_norm(Tensor* x, Tensor* multiplier, const Tensor* added) {
  const auto shift = shift_by(added, multiplier);
  if (!shift || !x->shape()) return std::nullopt;
  Norm norm;
  norm.x = x;
  norm.bias = shift->bias;
  Tensor* inverse_deviation = multiplier;
  if (const Operation* gamma = produced_by(multiplier, OpKind::Mul)) {
    const WithConstant match = with_constant(gamma);
    if (!match) return std::nullopt;
    norm.scale = match.constant;
    inverse_deviation = match.x;
  }
  const auto variance = deviation_of(inverse_deviation, true);
  const auto square = variance ? mean_square_of(variance->value) : std::nullopt;
  if (!square || spread_of(*square) != x || !is_mean(shift->mean, x, square->axes))
    return std::nullopt;
  norm.axes = square->axes;
  norm.epsilon = variance->epsilon;
  norm.location = shift->mean->producer()->location();
  if (!is_usable(norm)) return std::nullopt;
  for (const Tensor* parameter : {norm.scale, norm.bias})
    if (parameter != nullptr && !is_parameter(parameter, *x->shape(), norm.axes))
      return std::nullopt;
  return norm;
}

// x * m + (beta - mean * m) with m = rsqrt(var + eps) * gamma: how TensorFlow and Keras write it.
Result<bool> expanded_layer_norm(Rewriter& rewriter, Operation* op) {
  if (has_quant(op)) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Operation* scaled = produced_by(op->input(side), OpKind::Mul);
    if (scaled == nullptr || !has_single_use(scaled->output())) continue;
    for (size_t k = 0; k < 2; ++k) {
      auto norm = expanded_norm(scaled->input(k), scaled->input(1 - k), op->input(1 - side));
      if (!norm) continue;
      norm->last = op;
      norm->location.merge(op->location());
      return write_norm(rewriter, std::move(*norm));
    }
  }
  return false;
}

// x / max(norm(x), eps): the norm along one axis with its dimension kept.
Result<bool> divided_by_norm(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || !is_float(op->output()->dtype())) return false;
  Tensor* x = op->input(0);
  Tensor* divisor = op->input(1);
  const Operation* floor = nullptr;
  if (const Operation* expand = produced_by(divisor, OpKind::Expand)) divisor = expand->input(0);
  if (const Operation* clip = produced_by(divisor, OpKind::Clip)) {
    const auto low = scalar_value(clip->input(1));
    if (!low || *low < 0 || *low > 1e-6 || clip->input(2) != nullptr) return false;
    floor = clip;
    divisor = clip->input(0);
  }
  const Operation* norm = divisor->producer();
  if (norm == nullptr || floor == nullptr) return false;
  const bool l2 = norm->kind() == OpKind::ReduceL2;
  if ((!l2 && norm->kind() != OpKind::ReduceL1) || norm->input(0) != x) return false;
  const auto axes = reduce_axes(norm);
  if (!axes || axes->size() != 1 || !norm->attrs_as<ReduceAttrs>().keep_dims) return false;
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::LpNorm, {x}, LpNormAttrs{.axis = axes->front(), .p = l2 ? 2 : 1},
                      {norm, floor, op}));
  rewriter.replace(op, result);
  return true;
}

// layer_norm without parameters, followed by them: what an exporter left apart.
Result<bool> parameters_behind(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || op->outputs().size() != 1 || !op->input(0)->shape()) return false;
  const auto& attrs = op->attrs_as<LayerNormAttrs>();
  const Shape& shape = *op->input(0)->shape();
  Norm norm;
  norm.kind = op->kind();
  norm.x = op->input(0);
  norm.epsilon = static_cast<double>(attrs.epsilon);
  for (int64_t axis = positive_axis(attrs.axis, shape.rank());
       axis < static_cast<int64_t>(shape.rank()); ++axis)
    norm.axes.push_back(axis);
  if (norm.axes.empty() || !is_usable(norm)) return false;
  const auto is_unit = [](const Tensor* t, double value) {
    return t == nullptr || is_splat(t, value);
  };
  if (!is_unit(op->input(1), 1) || !is_unit(op->input(2), 0)) return false;
  norm.last = op;
  norm.location = op->location();
  take_parameters(norm);
  if (norm.last == op) return false;
  return write_norm(rewriter, std::move(norm));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Div, divided_by_deviation, "layer_norm, rms_norm"},
    {OpKind::Mul, divided_by_deviation, "layer_norm, rms_norm"},
    {OpKind::Add, expanded_layer_norm, "layer_norm, rms_norm"},
    {OpKind::LayerNorm, parameters_behind, "parameters"},
    {OpKind::RmsNorm, parameters_behind, "parameters"},
    {OpKind::Div, divided_by_norm, "lp_norm"},
};

}  // namespace

const PassInfo kRecoverNormsPass{
    .name = "recover-norms",
    .summary = "Finds layer_norm, rms_norm and lp_norm in arithmetic.",
    .details =
        "Mean and variance over the last dimensions (or over the channels of a channels-first "
        "tensor, then between transposes), divided by a square root or multiplied by its inverse, "
        "with or without parameters. lp_norm needs a floor of the norm of at most 1e-6.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverNormsPass.name, kRules);
    }};

}  // namespace ec::passes
