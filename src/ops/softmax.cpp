// Softmax, its logarithm and hardmax along one axis. Rows are shifted by their maximum, so that no
// exponential overflows; sums are taken in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// The statistics of one [size, inner] block, one column per inner index.
template <class C>
struct Columns {
  std::vector<C> top;
  std::vector<double> sum;
};

template <class C>
void measure(const C* x, const AxisSplit& split, Columns<C>& columns) {
  const auto inner = static_cast<size_t>(split.inner);
  columns.top.assign(inner, -std::numeric_limits<C>::infinity());
  columns.sum.assign(inner, 0.0);
  for (int64_t k = 0; k < split.size; ++k)
    for (size_t i = 0; i < inner; ++i)
      columns.top[i] = max_of(columns.top[i], x[static_cast<size_t>(k) * inner + i]);
}

template <class C>
void softmax_block(const C* x, C* y, const AxisSplit& split, Columns<C>& columns) {
  const auto inner = static_cast<size_t>(split.inner);
  const auto count = static_cast<size_t>(split.size) * inner;
  measure(x, split, columns);
  for (size_t at = 0; at < count; at += inner)
    for (size_t i = 0; i < inner; ++i) {
      y[at + i] = std::exp(x[at + i] - columns.top[i]);
      columns.sum[i] += static_cast<double>(y[at + i]);
    }
  for (size_t at = 0; at < count; at += inner)
    for (size_t i = 0; i < inner; ++i)
      y[at + i] = static_cast<C>(static_cast<double>(y[at + i]) / columns.sum[i]);
}

template <class C>
void log_softmax_block(const C* x, C* y, const AxisSplit& split, Columns<C>& columns) {
  const auto inner = static_cast<size_t>(split.inner);
  const auto count = static_cast<size_t>(split.size) * inner;
  measure(x, split, columns);
  for (size_t at = 0; at < count; at += inner)
    for (size_t i = 0; i < inner; ++i)
      columns.sum[i] += static_cast<double>(std::exp(x[at + i] - columns.top[i]));
  for (double& sum : columns.sum) sum = std::log(sum);
  for (size_t at = 0; at < count; at += inner)
    for (size_t i = 0; i < inner; ++i)
      y[at + i] = static_cast<C>(static_cast<double>(x[at + i] - columns.top[i]) - columns.sum[i]);
}

// 1 at the first maximum of each column, 0 elsewhere.
template <class C>
void hardmax_block(const C* x, C* y, const AxisSplit& split, Columns<C>& columns) {
  const auto inner = static_cast<size_t>(split.inner);
  measure(x, split, columns);
  std::vector<bool> found(inner, false);
  for (size_t k = 0; k < static_cast<size_t>(split.size); ++k)
    for (size_t i = 0; i < inner; ++i) {
      const C value = x[k * inner + i], top = columns.top[i];
      const bool is_top = value == top || (value != value && top != top);
      y[k * inner + i] = is_top && !found[i] ? C{1} : C{0};
      if (is_top) found[i] = true;
    }
}

// The common case of adjacent elements, with the row's statistics in registers.
template <class C>
void softmax_row(const C* x, C* y, int64_t size) {
  C top = -std::numeric_limits<C>::infinity();
  for (int64_t i = 0; i < size; ++i) top = max_of(top, x[i]);
  double sum = 0.0;
  for (int64_t i = 0; i < size; ++i) {
    y[i] = std::exp(x[i] - top);
    sum += static_cast<double>(y[i]);
  }
  for (int64_t i = 0; i < size; ++i) y[i] = static_cast<C>(static_cast<double>(y[i]) / sum);
}

enum class Form { Softmax, LogSoftmax, Hardmax };

template <Form kForm>
Status run_softmax(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const int64_t axis = ctx.attrs<AxisAttrs>().axis;
  if (x.count() == 0) return {};
  const AxisSplit split = split_at_axis(x.shape, axis);
  with_float_type(x.dtype, [&](auto c) {
    using C = decltype(c);
    const Reader<C> in(x);
    Writer<C> out(ctx.output(0));
    Columns<C> columns;
    const int64_t block = split.size * split.inner;
    Ticker ticker;
    for (int64_t o = 0; o < split.outer; ++o) {
      if (ticker.tick(8 * block)) return;
      const C* from = in.data() + o * block;
      C* to = out.data() + o * block;
      if constexpr (kForm == Form::Softmax) {
        if (split.inner == 1)
          softmax_row(from, to, split.size);
        else
          softmax_block(from, to, split, columns);
      }
      if constexpr (kForm == Form::LogSoftmax) log_softmax_block(from, to, split, columns);
      if constexpr (kForm == Form::Hardmax) hardmax_block(from, to, split, columns);
    }
    out.commit();
  });
  return {};
}

Status infer_softmax(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  return infer_same_as_first(ctx);
}

Status infer_softmax_i16(InferContext& ctx) {
  if (ctx.dtype(0) != DType::I8)
    return ctx.bad_type("softmax_i16 takes 8-bit numbers, not " + operand_text(ctx, 0));
  ctx.set(0, DType::I16, ctx.shape(0));
  return {};
}

}  // namespace

constexpr Rule kSoftmaxRules[] = {rule::axis("axis", "x")};
EC_OP_DEF(Softmax, .signature = "(x) -> y",
          .summary = "exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.",
          .rules = kSoftmaxRules, .infer = infer_softmax, .reference = run_softmax<Form::Softmax>,
          .quantized = quantized::softmax, .quant = QuantRule::FixedOutput,
          .layout = LayoutRule::AxisAttr);
EC_OP_DEF(
    SoftmaxI16, .signature = "(x) -> y",
    .summary = "softmax of 8-bit numbers with a 16-bit result: scale 1/65536, zero point -32768.",
    .rules = kSoftmaxRules, .infer = infer_softmax_i16, .reference = quantized::softmax_i16,
    .quantized = quantized::softmax_i16, .quant = QuantRule::FixedOutput,
    .layout = LayoutRule::Fixed);
EC_OP_DEF(LogSoftmax, .signature = "(x) -> y", .summary = "log(softmax(x)) along an axis.",
          .rules = kSoftmaxRules, .infer = infer_softmax,
          .reference = run_softmax<Form::LogSoftmax>, .quantized = quantized::log_softmax,
          .quant = QuantRule::FixedOutput, .layout = LayoutRule::AxisAttr);
EC_OP_DEF(Hardmax, .signature = "(x) -> y",
          .summary = "1 at the first maximum along an axis, 0 elsewhere.", .rules = kSoftmaxRules,
          .infer = infer_softmax, .reference = run_softmax<Form::Hardmax>,
          .layout = LayoutRule::AxisAttr);

}  // namespace ec::ops
