// eliminate-identities: operations that return their operand unchanged go.
//
//   add(%x, 0)   mul(%x, 1)   cast(%x: f32) {to=f32}   pad(%x, [0,0])   concat(%x)   ->   %x
#include <algorithm>
#include <limits>
#include <numeric>

#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

Result<bool> operand_itself(Rewriter& rewriter, Operation* op) {
  return rewriter.forward(op, op->input(0));
}

// x + 0, x * 1, x - 0, x / 1, x ^ 1 and the commuted forms: `neutral` is the constant.
template <int kNeutral>
Result<bool> neutral_operand(Rewriter& rewriter, Operation* op) {
  const WithScalar match = with_scalar(op);
  // A stored 0 or 1 of a quantised constant stands for another value.
  if (!match || match.value != kNeutral || has_quant(op)) return false;
  return rewriter.forward(op, match.x);
}

// The result has the operand's type and provably its shape: nothing was changed.
Result<bool> same_shape_result(Rewriter& rewriter, Operation* op) {
  if (!same_shape(op->input(0), op->output())) return false;
  return rewriter.forward(op, op->input(0));
}

Result<bool> cast_to_same(Rewriter& rewriter, Operation* op) {
  if (op->input(0)->dtype() != op->output()->dtype()) return false;
  return rewriter.forward(op, op->input(0));
}

// One operation applied twice: of idempotent ones the inner stays, inverses cancel.
Result<bool> twice_is_once(Rewriter& rewriter, Operation* op) {
  if (produced_by(op->input(0), op->kind()) == nullptr) return false;
  return rewriter.forward(op, op->input(0));
}
Result<bool> twice_is_nothing(Rewriter& rewriter, Operation* op) {
  const Operation* inner = produced_by(op->input(0), op->kind());
  return inner != nullptr && !has_quant(inner) && rewriter.forward(op, inner->input(0));
}

// relu of what is never negative.
Result<bool> relu_of_non_negative(Rewriter& rewriter, Operation* op) {
  const Operation* inner = op->input(0)->producer();
  if (inner == nullptr) return false;
  switch (inner->kind()) {
    case OpKind::Abs:
      // The least integer has no positive counterpart and stays as it is.
      return is_float(op->output()->dtype()) && rewriter.forward(op, op->input(0));
    case OpKind::Relu:
    case OpKind::Exp:
    case OpKind::Sigmoid:
    case OpKind::HardSigmoid:
    case OpKind::Softplus:
    case OpKind::Softmax:
      return rewriter.forward(op, op->input(0));
    default:
      return false;
  }
}

Result<bool> dropout(Rewriter& rewriter, Operation* op) {
  const Tensor* training = op->input(2);
  if (training != nullptr && !is_splat(training, 0)) return false;
  if (op->outputs().size() > 1 && !rewriter.graph().is_unused(op->output(1))) return false;
  return rewriter.forward(op, op->input(0));
}

Result<bool> pad_nothing(Rewriter& rewriter, Operation* op) {
  const auto pads = int_values(op->input(1));
  if (!pads || !std::all_of(pads->begin(), pads->end(), [](int64_t p) { return p == 0; }))
    return false;
  return rewriter.forward(op, op->input(0));
}

Result<bool> tile_once(Rewriter& rewriter, Operation* op) {
  const auto repeats = int_values(op->input(1));
  if (!repeats || !std::all_of(repeats->begin(), repeats->end(), [](int64_t r) { return r == 1; }))
    return false;
  return rewriter.forward(op, op->input(0));
}

// slice(x, starts, ends, axes?, steps?) that keeps every element: steps 1, from 0 or before it to
// the size or beyond it.
Result<bool> slice_everything(Rewriter& rewriter, Operation* op) {
  const auto starts = int_values(op->input(1));
  const auto ends = int_values(op->input(2));
  const auto& shape = op->input(0)->shape();
  if (!starts || !ends || !shape || starts->size() != ends->size()) return false;
  std::vector<int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (op->input(3) != nullptr) {
    const auto given = int_values(op->input(3));
    if (!given || given->size() != axes.size()) return false;
    axes = *given;
  }
  if (op->input(4) != nullptr && !is_splat(op->input(4), 1)) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(positive_axis(axes[i], shape->rank()));
    if (axis >= shape->rank()) return false;
    const Dim& size = (*shape)[axis];
    const bool to_end = (*ends)[i] == std::numeric_limits<int64_t>::max() ||
                        (size.is_static() ? (*ends)[i] >= size.size()
                                          : (*ends)[i] >= std::numeric_limits<int32_t>::max());
    const bool from_begin = (*starts)[i] == 0 || (size.is_static() && (*starts)[i] <= -size.size());
    if (!to_end || !from_begin) return false;
  }
  return rewriter.forward(op, op->input(0));
}

// Powers by floats are computed in floats, which do not hold every integer of 64 bits.
Result<bool> first_power(Rewriter& rewriter, Operation* op) {
  const DType base = op->input(0)->dtype();
  if (!is_float(base) && bit_width(base) > 52 && is_float(op->input(1)->dtype())) return false;
  return neutral_operand<1>(rewriter, op);
}

Result<bool> single_operand(Rewriter& rewriter, Operation* op) {
  if (op->inputs().size() != 1) return false;
  return rewriter.forward(op, op->input(0));
}

Result<bool> single_result(Rewriter& rewriter, Operation* op) {
  if (op->outputs().size() != 1) return false;
  return rewriter.forward(op, op->input(0));
}

// A reduction that adds up nothing: over no axis, or over axes of size 1.
Result<bool> reduce_nothing(Rewriter& rewriter, Operation* op) {
  const auto axes = reduce_axes(op);
  const auto& shape = op->input(0)->shape();
  if (!axes || !shape) return false;
  for (const int64_t axis : *axes)
    if (static_cast<size_t>(axis) >= shape->rank() || (*shape)[static_cast<size_t>(axis)] != Dim(1))
      return false;
  if (axes->empty() || op->attrs_as<ReduceAttrs>().keep_dims)
    return rewriter.forward(op, op->input(0));
  if (has_quant(op)) return false;
  EC_TRY(Tensor * squeezed,
         rewriter.add(OpKind::Squeeze, {op->input(0), rewriter.ints(*axes)}, NoAttrs{}, {op}));
  rewriter.replace(op, squeezed);
  return true;
}

Result<bool> identity_transpose(Rewriter& rewriter, Operation* op) {
  const std::vector<int64_t>& perm = op->attrs_as<TransposeAttrs>().perm;
  const auto rank = rank_of(op->input(0));
  if (perm.empty() && rank != 0 && rank != 1) return false;
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return rewriter.forward(op, op->input(0));
}

// gather(x, [0, 1, ..., n - 1]) along an axis of size n.
Result<bool> gather_everything(Rewriter& rewriter, Operation* op) {
  const auto& shape = op->input(0)->shape();
  if (!shape || rank_of(op->input(1)) != 1 || !is_constant(op->input(1))) return false;
  const auto axis =
      static_cast<size_t>(positive_axis(op->attrs_as<GatherAttrs>().axis, shape->rank()));
  const auto count = op->input(1)->type().num_elements();
  if (axis >= shape->rank() || !count || (*shape)[axis] != Dim(*count)) return false;
  const auto indices = int_values(op->input(1));
  for (size_t i = 0; i < indices->size(); ++i)
    if ((*indices)[i] != static_cast<int64_t>(i)) return false;
  return rewriter.forward(op, op->input(0));
}

// where(c, a, b) with c constant, or a and b the same, when the chosen one has the result's shape.
Result<bool> decided_where(Rewriter& rewriter, Operation* op) {
  Tensor* chosen = op->input(1) == op->input(2) ? op->input(1) : nullptr;
  if (is_splat(op->input(0), 1)) chosen = op->input(1);
  if (is_splat(op->input(0), 0)) chosen = op->input(2);
  if (chosen == nullptr || !same_shape(chosen, op->output())) return false;
  return rewriter.forward(op, chosen);
}

// Pools with a window of one element.
Result<bool> pool_of_one(Rewriter& rewriter, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  const auto all = [](const std::vector<int64_t>& values, int64_t n) {
    return std::all_of(values.begin(), values.end(), [n](int64_t v) { return v == n; });
  };
  if (op->outputs().size() != 1 || !all(attrs.kernel, 1) || !all(attrs.strides, 1) ||
      !all(attrs.pads, 0))
    return false;
  return rewriter.forward(op, op->input(0));
}

Result<bool> global_pool_of_one(Rewriter& rewriter, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() < 3) return false;
  const bool last = op->attrs_as<GlobalPoolAttrs>().layout == Layout::ChannelsLast;
  for (size_t i = last ? 1 : 2; i < sizes->size() - (last ? 1 : 0); ++i)
    if ((*sizes)[i] != 1) return false;
  return rewriter.forward(op, op->input(0));
}

// resize to the same size: every coordinate maps to itself (only cropping could change that).
Result<bool> resize_to_same(Rewriter& rewriter, Operation* op) {
  if (op->attrs_as<ResizeAttrs>().coordinates == CoordinateMode::CropAndResize) return false;
  if (!op->input(0)->type().is_static() || !same_shape(op->input(0), op->output())) return false;
  // Scales that are not quite 1 give the same size but other coordinates.
  if (op->input(2) != nullptr && !is_splat(op->input(2), 1)) return false;
  return rewriter.forward(op, op->input(0));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Identity, operand_itself, "identity"},
    {OpKind::Add, neutral_operand<0>, "x + 0"},
    {OpKind::Sub, neutral_operand<0>, "x - 0"},
    {OpKind::Mul, neutral_operand<1>, "x * 1"},
    {OpKind::Div, neutral_operand<1>, "x / 1"},
    {OpKind::Pow, first_power, "x ^ 1"},
    {OpKind::And, neutral_operand<1>, "x and true"},
    {OpKind::Or, neutral_operand<0>, "x or false"},
    {OpKind::Cast, cast_to_same, "cast to the same type"},
    {OpKind::Neg, twice_is_nothing, "double negation"},
    {OpKind::Not, twice_is_nothing, "double negation"},
    {OpKind::BitwiseNot, twice_is_nothing, "double negation"},
    {OpKind::Abs, twice_is_once, "repeated operation"},
    {OpKind::Floor, twice_is_once, "repeated operation"},
    {OpKind::Ceil, twice_is_once, "repeated operation"},
    {OpKind::Round, twice_is_once, "repeated operation"},
    {OpKind::Sign, twice_is_once, "repeated operation"},
    {OpKind::Relu, relu_of_non_negative, "relu of non-negative"},
    {OpKind::Dropout, dropout, "dropout"},
    {OpKind::Pad, pad_nothing, "pad by nothing"},
    {OpKind::Tile, tile_once, "tile once"},
    {OpKind::Expand, same_shape_result, "expand to the same shape"},
    {OpKind::Reshape, same_shape_result, "reshape to the same shape"},
    {OpKind::Flatten, same_shape_result, "reshape to the same shape"},
    {OpKind::Squeeze, same_shape_result, "reshape to the same shape"},
    {OpKind::Unsqueeze, same_shape_result, "reshape to the same shape"},
    {OpKind::Slice, slice_everything, "slice of everything"},
    {OpKind::Concat, single_operand, "concat of one"},
    {OpKind::Split, single_result, "split into one"},
    {OpKind::ReduceSum, reduce_nothing, "reduction over nothing"},
    {OpKind::ReduceMean, reduce_nothing, "reduction over nothing"},
    {OpKind::ReduceMax, reduce_nothing, "reduction over nothing"},
    {OpKind::ReduceMin, reduce_nothing, "reduction over nothing"},
    {OpKind::ReduceProd, reduce_nothing, "reduction over nothing"},
    {OpKind::Transpose, identity_transpose, "transpose in order"},
    {OpKind::Gather, gather_everything, "gather of everything"},
    {OpKind::Where, decided_where, "where with one outcome"},
    {OpKind::MaxPool, pool_of_one, "pool of one element"},
    {OpKind::AvgPool, pool_of_one, "pool of one element"},
    {OpKind::GlobalAvgPool, global_pool_of_one, "pool of one element"},
    {OpKind::GlobalMaxPool, global_pool_of_one, "pool of one element"},
    {OpKind::Resize, resize_to_same, "resize to the same size"},
};

}  // namespace

const PassInfo kEliminateIdentitiesPass{
    .name = "eliminate-identities",
    .summary = "Removes operations that return their operand unchanged.",
    .details =
        "Arithmetic with neutral constants, casts to the same type, dropout at inference, "
        "double negation, repeated rounding, and data movement that moves nothing. An "
        "operation that changes quantisation parameters stays.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kEliminateIdentitiesPass.name, kRules);
    }};

}  // namespace ec::passes
