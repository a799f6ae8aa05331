// Reductions along dimensions.
#include <algorithm>
#include <cmath>

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

struct Reduction {
  ec::Tensor* x = nullptr;
  Ints axes;
  ReduceAttrs attrs;
};

// What the arguments dim and keepdim say; forms without them reduce everything.
Reduction reduction(Call& c, ec::Tensor* x) {
  Reduction r;
  r.x = x;
  const int64_t rank = c.rank(x);
  r.axes = c.dims("dim", rank);
  if (rank == 0) r.axes.clear();
  r.attrs.keep_dims = c.has("keepdim") && c.boolean("keepdim");
  return r;
}

Result<ec::Tensor*> apply(Call& c, OpKind kind, const Reduction& r) {
  if (r.axes.empty()) return r.x;
  return c.add(kind, {r.x, c.int_list(r.axes)}, r.attrs);
}

template <OpKind kKind>
Result<ec::Tensor*> reduce(Call& c) {
  return apply(c, kKind, reduction(c, c.tensor("self")));
}

// Sums and products of integers are i64.
template <OpKind kKind>
Result<ec::Tensor*> accumulate(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const DType natural = is_float(x->dtype()) ? x->dtype() : DType::I64;
  EC_TRY(x, c.cast(x, c.dtype("dtype", natural)));
  return apply(c, kKind, reduction(c, x));
}

Result<ec::Tensor*> mean(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(x, c.cast(x, c.dtype("dtype", x->dtype())));
  return apply(c, OpKind::ReduceMean, reduction(c, x));
}

// Whether any element, or all, are true.
template <OpKind kKind>
Result<ec::Tensor*> truth(Call& c) {
  EC_TRY(ec::Tensor * x, c.cast(c.tensor("self"), DType::Bool));
  EC_TRY(x, c.cast(x, DType::U8));
  EC_TRY(ec::Tensor * y, apply(c, kKind, reduction(c, x)));
  return c.cast(y, DType::Bool);
}

Result<ec::Tensor*> extreme_index(Call& c, OpKind kind, ec::Tensor* x, int64_t axis, bool keep) {
  ArgReduceAttrs attrs;
  attrs.axis = axis;
  attrs.keep_dims = keep;
  return c.add(kind, {x}, attrs);
}

template <OpKind kValue, OpKind kIndex>
Result<std::vector<TorchValue>> extreme(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  if (rank == 0) return std::vector<TorchValue>{x, c.scalar(DType::I64, 0)};
  const int64_t axis = c.dim("dim", rank);
  ReduceAttrs attrs;
  attrs.keep_dims = c.boolean("keepdim");
  EC_TRY(ec::Tensor * values, c.add(kValue, {x, c.int_list({axis})}, attrs));
  EC_TRY(ec::Tensor * indices, extreme_index(c, kIndex, x, axis, attrs.keep_dims));
  return std::vector<TorchValue>{values, indices};
}

template <OpKind kKind>
Result<ec::Tensor*> elementwise_extreme(Call& c) {
  return c.binary(kKind, c.ref("self"), c.ref("other"));
}

template <OpKind kKind>
Result<ec::Tensor*> arg_extreme(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  const bool keep = c.boolean("keepdim");
  if (c.has("dim") && rank > 0) return extreme_index(c, kKind, x, c.dim("dim", rank), keep);
  EC_TRY(ec::Tensor * flat, c.reshape(x, Ints{-1}));
  EC_TRY(ec::Tensor * index, extreme_index(c, kKind, flat, 0, false));
  return keep ? c.reshape(index, Ints(static_cast<size_t>(rank), 1)) : Result<ec::Tensor*>(index);
}

Result<std::vector<TorchValue>> aminmax(Call& c) {
  EC_TRY(ec::Tensor * low, reduce<OpKind::ReduceMin>(c));
  EC_TRY(ec::Tensor * high, reduce<OpKind::ReduceMax>(c));
  return std::vector<TorchValue>{low, high};
}

// Mean and variance with the correction that the form states (1 by default).
struct Moments {
  ec::Tensor* mean;
  ec::Tensor* variance;
};
Result<Moments> moments(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  Reduction r = reduction(c, x);
  double correction = 1;
  if (c.has_arg("correction")) correction = c.number("correction", 1);
  if (c.has_arg("unbiased")) correction = c.boolean("unbiased") ? 1 : 0;
  const bool keep = r.attrs.keep_dims;
  r.attrs.keep_dims = true;
  EC_TRY(ec::Tensor * mean, apply(c, OpKind::ReduceMean, r));
  Reduction squares = r;
  EC_TRY(ec::Tensor * centred, c.add(OpKind::Sub, {x, mean}));
  EC_TRY(squares.x, c.add(OpKind::Mul, {centred, centred}));
  squares.attrs.keep_dims = keep;
  EC_TRY(ec::Tensor * variance, apply(c, OpKind::ReduceMean, squares));
  if (correction != 0) {
    double count = 1;
    for (const int64_t axis : r.axes) count *= static_cast<double>(c.size(x, axis));
    const double factor = count / std::max(count - correction, 0.0);
    EC_TRY(variance, c.add(OpKind::Mul, {variance, c.scalar(x->dtype(), factor)}));
  }
  if (!keep && !r.axes.empty()) {
    EC_TRY(mean, c.squeeze(mean, r.axes));
  }
  return Moments{mean, variance};
}

Result<ec::Tensor*> var(Call& c) {
  EC_TRY(const Moments m, moments(c));
  return m.variance;
}

Result<ec::Tensor*> std_deviation(Call& c) {
  EC_TRY(const Moments m, moments(c));
  return c.add(OpKind::Sqrt, {m.variance});
}

Result<std::vector<TorchValue>> var_mean(Call& c) {
  EC_TRY(const Moments m, moments(c));
  return std::vector<TorchValue>{m.variance, m.mean};
}

Result<std::vector<TorchValue>> std_mean(Call& c) {
  EC_TRY(const Moments m, moments(c));
  EC_TRY(ec::Tensor * deviation, c.add(OpKind::Sqrt, {m.variance}));
  return std::vector<TorchValue>{deviation, m.mean};
}

Result<ec::Tensor*> norm_of(Call& c, double p) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(x, c.cast(x, c.has_arg("dtype") ? c.dtype("dtype", x->dtype()) : x->dtype()));
  Reduction r = reduction(c, x);
  if (r.axes.empty()) return c.add(OpKind::Abs, {x});
  if (p == 2) return apply(c, OpKind::ReduceL2, r);
  if (p == 1) return apply(c, OpKind::ReduceL1, r);
  EC_TRY(r.x, c.add(OpKind::Abs, {x}));
  if (std::isinf(p)) return apply(c, p > 0 ? OpKind::ReduceMax : OpKind::ReduceMin, r);
  if (p == 0) {
    EC_TRY(r.x, c.cast(r.x, DType::Bool));
    EC_TRY(r.x, c.cast(r.x, x->dtype()));
    return apply(c, OpKind::ReduceSum, r);
  }
  EC_TRY(r.x, c.add(OpKind::Pow, {r.x, c.scalar(x->dtype(), p)}));
  EC_TRY(ec::Tensor * sum, apply(c, OpKind::ReduceSum, r));
  return c.add(OpKind::Pow, {sum, c.scalar(x->dtype(), 1 / p)});
}

Result<ec::Tensor*> vector_norm(Call& c) { return norm_of(c, c.number("ord", 2)); }
Result<ec::Tensor*> norm(Call& c) { return norm_of(c, c.number("p", 2)); }
Result<ec::Tensor*> frobenius_norm(Call& c) { return norm_of(c, 2); }

Result<ec::Tensor*> linalg_norm(Call& c) {
  if (c.has("ord") && (!c.has("dim") || c.items("dim").size() != 1) &&
      c.rank(c.tensor("self")) != 1)
    return c.unsupported("a norm of matrices");
  return norm_of(c, c.number("ord", 2));
}

Result<ec::Tensor*> count_nonzero(Call& c) {
  EC_TRY(ec::Tensor * x, c.cast(c.tensor("self"), DType::Bool));
  EC_TRY(x, c.cast(x, DType::I64));
  return apply(c, OpKind::ReduceSum, reduction(c, x));
}

Result<ec::Tensor*> without_nan(Call& c, ec::Tensor* x) {
  EC_TRY(ec::Tensor * nan, c.add(OpKind::IsNan, {x}));
  return c.add(OpKind::Where, {nan, c.scalar(x->dtype(), 0), x});
}

Result<ec::Tensor*> nansum(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(x, without_nan(c, x));
  return apply(c, OpKind::ReduceSum, reduction(c, x));
}

Result<ec::Tensor*> nanmean(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  EC_TRY(ec::Tensor * nan, c.add(OpKind::IsNan, {x}));
  EC_TRY(ec::Tensor * number, c.add(OpKind::Not, {nan}));
  EC_TRY(number, c.cast(number, x->dtype()));
  EC_TRY(x, without_nan(c, x));
  EC_TRY(ec::Tensor * sum, apply(c, OpKind::ReduceSum, reduction(c, x)));
  EC_TRY(ec::Tensor * count, apply(c, OpKind::ReduceSum, reduction(c, number)));
  return c.add(OpKind::Div, {sum, count});
}

template <OpKind kKind>
Result<ec::Tensor*> cumulative(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const DType natural = is_float(x->dtype()) ? x->dtype() : DType::I64;
  EC_TRY(x, c.cast(x, c.dtype("dtype", natural)));
  const int64_t rank = c.rank(x);
  if (rank == 0) return x;
  return c.add(kKind, {x, c.scalar(DType::I64, static_cast<double>(c.dim("dim", rank)))},
               CumulativeAttrs{});
}

#define EC_REDUCE(name) "aten::" name "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"

constexpr OperatorRow kRows[] = {
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", accumulate<OpKind::ReduceSum>},
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     accumulate<OpKind::ReduceSum>},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     mean},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     accumulate<OpKind::ReduceProd>},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     accumulate<OpKind::ReduceProd>},
    {EC_REDUCE("amax"), reduce<OpKind::ReduceMax>},
    {EC_REDUCE("amin"), reduce<OpKind::ReduceMin>},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor "
     "max)",
     aminmax},
    {"aten::max(Tensor self) -> Tensor", reduce<OpKind::ReduceMax>},
    {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     extreme<OpKind::ReduceMax, OpKind::ArgMax>},
    {"aten::max.other(Tensor self, Tensor other) -> Tensor", elementwise_extreme<OpKind::Max>},
    {"aten::min(Tensor self) -> Tensor", reduce<OpKind::ReduceMin>},
    {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     extreme<OpKind::ReduceMin, OpKind::ArgMin>},
    {"aten::min.other(Tensor self, Tensor other) -> Tensor", elementwise_extreme<OpKind::Min>},
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     arg_extreme<OpKind::ArgMax>},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     arg_extreme<OpKind::ArgMin>},
    {"aten::all(Tensor self) -> Tensor", truth<OpKind::ReduceMin>},
    {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth<OpKind::ReduceMin>},
    {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     truth<OpKind::ReduceMin>},
    {"aten::any(Tensor self) -> Tensor", truth<OpKind::ReduceMax>},
    {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth<OpKind::ReduceMax>},
    {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     truth<OpKind::ReduceMax>},
    {"aten::var(Tensor self, bool unbiased=True) -> Tensor", var},
    {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     var},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> Tensor",
     var},
    {"aten::std(Tensor self, bool unbiased=True) -> Tensor", std_deviation},
    {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     std_deviation},
    {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> Tensor",
     std_deviation},
    {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", var_mean},
    {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     var_mean},
    {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> (Tensor, Tensor)",
     var_mean},
    {"aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", std_mean},
    {"aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     std_mean},
    {"aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False) -> (Tensor, Tensor)",
     std_mean},
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", norm},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     norm},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
     "ScalarType dtype) -> Tensor",
     norm},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", norm},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     frobenius_norm},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
     "*, ScalarType? dtype=None) -> Tensor",
     vector_norm},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     linalg_norm},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     reduce<OpKind::ReduceLogSumExp>},
    {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", count_nonzero},
    {"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", count_nonzero},
    {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
     "-> Tensor",
     nansum},
    {"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     nanmean},
    {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     cumulative<OpKind::CumSum>},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     cumulative<OpKind::CumProd>},
};

}  // namespace

const std::span<const OperatorRow> kReductionRows = kRows;

}  // namespace ec::torch
