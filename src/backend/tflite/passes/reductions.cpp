// Reductions that TFLite lacks, and those that it has along the last dimension only.
#include <algorithm>

#include "backend/tflite/passes/rules.h"
#include "backend/tflite/passes/spectrum.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

bool is_float_reduction(const Operation* op) {
  return !has_quant(op) && is_float(op->output()->dtype()) && reduce_axes(op).has_value() &&
         rank_of(op->input(0)).has_value();
}

bool keeps(const Operation* op) { return op->attrs_as<ReduceAttrs>().keep_dims; }

// reduce(before(x)), then after().
Result<bool> expand_l1(Rewriter& r, Operation* op) {
  if (!is_float_reduction(op)) return false;
  Replacement p(r, op);
  return p.replace(
      p.reduce(OpKind::ReduceSum, p.unary(OpKind::Abs, op->input(0)), *reduce_axes(op), keeps(op)));
}

Result<bool> expand_square_sum(Rewriter& r, Operation* op) {
  if (!is_float_reduction(op) || reads_spectrum(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* sum = p.reduce(OpKind::ReduceSum, p.mul(x, x), *reduce_axes(op), keeps(op));
  return p.replace(op->kind() == OpKind::ReduceL2 ? p.unary(OpKind::Sqrt, sum) : sum);
}

Result<bool> expand_log_sum(Rewriter& r, Operation* op) {
  if (!is_float_reduction(op)) return false;
  Replacement p(r, op);
  return p.replace(
      p.unary(OpKind::Log, p.reduce(OpKind::ReduceSum, op->input(0), *reduce_axes(op), keeps(op))));
}

// max + log(sum(e^(x - max)))
Result<bool> expand_log_sum_exp(Rewriter& r, Operation* op) {
  if (!is_float_reduction(op) || !op->output()->shape()) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const auto axes = *reduce_axes(op);
  Tensor* top = p.reduce(OpKind::ReduceMax, x, axes);
  Tensor* sum = p.reduce(OpKind::ReduceSum, p.unary(OpKind::Exp, p.sub(x, top)), axes);
  return p.replace(p.reshape(p.add(top, p.unary(OpKind::Log, sum)), *op->output()->shape()));
}

Perm to_last(size_t rank, int64_t axis) {
  Perm perm = identity_perm(rank);
  perm.erase(perm.begin() + axis);
  perm.push_back(axis);
  return perm;
}

Result<bool> softmax_last(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (has_quant(op) || !rank || *rank == 0) return false;
  const int64_t axis = positive_axis(op->attrs_as<AxisAttrs>().axis, *rank);
  const auto last = static_cast<int64_t>(*rank) - 1;
  if (axis == last) return false;
  Replacement p(r, op);
  const Perm perm = to_last(*rank, axis);
  Tensor* y = p.op(op->kind(), {p.transpose(op->input(0), perm)}, AxisAttrs{.axis = last});
  return p.replace(p.transpose(y, inverse(perm)));
}

// one_hot(arg_max(x))
Result<bool> expand_hardmax(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!is_plain(op) || !rank || *rank == 0) return false;
  const int64_t axis = positive_axis(op->attrs_as<AxisAttrs>().axis, *rank);
  const Dim size = (*op->input(0)->shape())[static_cast<size_t>(axis)];
  if (!size.is_static() || op->output()->dtype() != DType::F32) return false;
  Replacement p(r, op);
  Tensor* at =
      p.op(OpKind::ArgMax, {op->input(0)}, ArgReduceAttrs{.axis = axis, .keep_dims = false});
  const float values[] = {0, 1};
  const int64_t depth[] = {size.size()};
  return p.replace(p.op(OpKind::OneHot, {at, p.ints(depth), p.floats(Shape{2}, values)},
                        OneHotAttrs{.axis = axis}));
}

// The last of equal elements: the first one from behind.
Result<bool> arg_from_behind(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ArgReduceAttrs>();
  const auto rank = rank_of(op->input(0));
  if (!attrs.select_last || has_quant(op) || !rank) return false;
  const int64_t axis = positive_axis(attrs.axis, *rank);
  const Dim size = (*op->input(0)->shape())[static_cast<size_t>(axis)];
  if (!size.is_static() || size.size() > kMostTableEntries) return false;
  Replacement p(r, op);
  std::vector<int64_t> indices;
  for (int64_t i = size.size(); i-- > 0;) indices.push_back(i);
  Attrs plain = op->attrs();
  plain.edit<ArgReduceAttrs>().select_last = false;
  Tensor* at = p.op(op->kind(), {p.gather(op->input(0), indices, axis)}, std::move(plain));
  if (!p.ok()) return p.replace(nullptr);
  return p.replace(p.sub(p.number(at, static_cast<double>(size.size() - 1)), at));
}

// Along the last dimension, largest first.
Result<bool> top_k_last(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<TopKAttrs>();
  const auto rank = rank_of(op->input(0));
  if (has_quant(op) || !rank || *rank == 0) return false;
  const auto last = static_cast<int64_t>(*rank) - 1;
  const int64_t axis = positive_axis(attrs.axis, *rank);
  if (axis == last && attrs.largest) return false;
  if (!attrs.largest && !is_float(op->input(0)->dtype())) return false;
  Replacement p(r, op);
  const Perm perm = to_last(*rank, axis);
  Tensor* x = p.transpose(op->input(0), perm);
  if (!attrs.largest) x = p.unary(OpKind::Neg, x);
  std::vector<Tensor*> results =
      p.op_many(OpKind::TopK, {x, op->input(1)}, TopKAttrs{.axis = last}, op->outputs().size());
  if (!attrs.largest) results[0] = p.unary(OpKind::Neg, results[0]);
  for (Tensor*& result : results) result = p.transpose(result, inverse(perm));
  return p.replace_all(results);
}

constexpr RewriteRule kRules[] = {
    {OpKind::ReduceL1, expand_l1, "reductions"},
    {OpKind::ReduceL2, expand_square_sum, "reductions"},
    {OpKind::ReduceSumSquare, expand_square_sum, "reductions"},
    {OpKind::ReduceLogSum, expand_log_sum, "reductions"},
    {OpKind::ReduceLogSumExp, expand_log_sum_exp, "reductions"},
    {OpKind::Softmax, softmax_last, "softmax along other dimensions"},
    {OpKind::LogSoftmax, softmax_last, "softmax along other dimensions"},
    {OpKind::Hardmax, expand_hardmax, "reductions"},
    {OpKind::ArgMax, arg_from_behind, "reductions"},
    {OpKind::ArgMin, arg_from_behind, "reductions"},
    {OpKind::TopK, top_k_last, "reductions"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteReductions = kRules;

}  // namespace ec::passes
