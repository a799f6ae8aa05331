// Losses, for models that compute them with their results.
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// 0 keeps the elements, 1 is their mean, 2 their sum.
Result<ec::Tensor*> reduced(Call& c, ec::Tensor* x) {
  const int64_t mode = c.integer("reduction");
  if (mode == 0) return x;
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return c.add(mode == 1 ? OpKind::ReduceMean : OpKind::ReduceSum, {x}, attrs);
}

Result<ec::Tensor*> difference(Call& c) {
  return c.binary(OpKind::Sub, c.ref("self"), c.ref("target"));
}

Result<ec::Tensor*> mse(Call& c) {
  EC_TRY(ec::Tensor * d, difference(c));
  EC_TRY(d, c.add(OpKind::Mul, {d, d}));
  return reduced(c, d);
}

Result<ec::Tensor*> l1(Call& c) {
  EC_TRY(ec::Tensor * d, difference(c));
  EC_TRY(d, c.add(OpKind::Abs, {d}));
  return reduced(c, d);
}

// Quadratic within the bound, linear beyond; smooth_l1 divides by the bound.
Result<ec::Tensor*> huber(Call& c, double bound, bool divide) {
  EC_TRY(ec::Tensor * d, difference(c));
  EC_TRY(d, c.add(OpKind::Abs, {d}));
  const DType dtype = d->dtype();
  EC_TRY(ec::Tensor * square, c.add(OpKind::Mul, {d, d}));
  EC_TRY(square, c.add(OpKind::Mul, {square, c.scalar(dtype, divide ? 0.5 / bound : 0.5)}));
  EC_TRY(ec::Tensor * line, c.add(OpKind::Sub, {d, c.scalar(dtype, bound / 2)}));
  if (!divide) {
    EC_TRY(line, c.add(OpKind::Mul, {line, c.scalar(dtype, bound)}));
  }
  EC_TRY(ec::Tensor * near, c.add(OpKind::Less, {d, c.scalar(dtype, bound)}));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Where, {near, square, line}));
  return reduced(c, y);
}

Result<ec::Tensor*> smooth_l1(Call& c) {
  const double beta = c.number("beta");
  return beta == 0 ? l1(c) : huber(c, beta, true);
}
Result<ec::Tensor*> huber_loss(Call& c) { return huber(c, c.number("delta"), false); }

// -log probability of the target class; classes are dimension 1 (0 for one sample).
Result<ec::Tensor*> negative_log(Call& c, ec::Tensor* log_probability) {
  if (c.has("weight")) return c.unsupported("class weights");
  ec::Tensor* target = c.tensor("target");
  const int64_t axis = c.rank(log_probability) == 1 ? 0 : 1;
  EC_TRY(ec::Tensor * index, c.unsqueeze(target, {axis}));
  GatherAttrs attrs;
  attrs.axis = axis;
  EC_TRY(ec::Tensor * chosen, c.add(OpKind::GatherElements, {log_probability, index}, attrs));
  EC_TRY(chosen, c.squeeze(chosen, {axis}));
  EC_TRY(chosen, c.add(OpKind::Neg, {chosen}));
  return reduced(c, chosen);
}

Result<ec::Tensor*> nll(Call& c) { return negative_log(c, c.tensor("self")); }

Result<ec::Tensor*> cross_entropy(Call& c) {
  ec::Tensor* x = c.tensor("self");
  if (c.number("label_smoothing") != 0) return c.unsupported("label smoothing");
  AxisAttrs attrs;
  attrs.axis = c.rank(x) == 1 ? 0 : 1;
  EC_TRY(ec::Tensor * logs, c.add(OpKind::LogSoftmax, {x}, attrs));
  if (!is_float(c.tensor("target")->dtype())) return negative_log(c, logs);
  if (c.has("weight")) return c.unsupported("class weights");
  // Targets that are probabilities.
  EC_TRY(ec::Tensor * y, c.add(OpKind::Mul, {logs, c.tensor("target")}));
  ReduceAttrs reduce;
  reduce.keep_dims = false;
  EC_TRY(y, c.add(OpKind::ReduceSum, {y, c.int_list({attrs.axis})}, reduce));
  EC_TRY(y, c.add(OpKind::Neg, {y}));
  return reduced(c, y);
}

constexpr OperatorRow kRows[] = {
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", mse},
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", l1},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> "
     "Tensor",
     smooth_l1},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> "
     "Tensor",
     huber_loss},
    {"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
     "int ignore_index=-100) -> Tensor",
     nll},
    {"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
     "int ignore_index=-100) -> Tensor",
     nll},
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, "
     "int reduction=Mean, int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
     cross_entropy},
};

}  // namespace

const std::span<const OperatorRow> kLossRows = kRows;

}  // namespace ec::torch
