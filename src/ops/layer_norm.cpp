// Normalisation along trailing dimensions (layer and RMS normalisation), along an axis (lp_norm)
// and across neighbouring channels (lrn). Sums are taken in double.
#include <algorithm>
#include <cmath>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/quantized/kernels.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// A parameter that broadcasts to [rows, columns]: one value, one per column, or one per element.
template <class C>
class RowParameter {
 public:
  RowParameter(const KernelContext& ctx, size_t operand, int64_t columns, C fallback) {
    if (!ctx.has(operand)) {
      values_.assign(1, fallback);
      return;
    }
    const ConstView& view = ctx.input(operand);
    const Reader<C> given(view);
    if (given.size() == 1) {
      values_.assign(1, given[0]);
    } else if (covers_row(ctx.input(0).shape, view.shape, columns)) {
      values_.assign(given.values().begin(), given.values().end());
      column_step_ = 1;
    } else {
      expand(ctx.input(0).shape, view.shape, given.data());
      column_step_ = 1;
      row_step_ = columns;
    }
  }
  C at(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(row * row_step_ + column * column_step_)];
  }

 private:
  // Same trailing sizes as x over exactly one row.
  static bool covers_row(std::span<const int64_t> x, std::span<const int64_t> shape,
                         int64_t columns) {
    while (!shape.empty() && shape.front() == 1) shape = shape.subspan(1);
    return count_elements(shape) == columns && shape.size() <= x.size() &&
           std::equal(shape.begin(), shape.end(), x.end() - static_cast<int64_t>(shape.size()));
  }
  void expand(std::span<const int64_t> x, std::span<const int64_t> shape, const C* given) {
    const std::span<const int64_t> shapes[] = {shape};
    const BroadcastPlan plan = plan_broadcast(x, shapes);
    values_.resize(static_cast<size_t>(count_elements(x)));
    for_each_run<1>(plan, [&](int64_t to, const std::array<int64_t, 1>& from) {
      for (int64_t i = 0; i < plan.inner; ++i)
        values_[static_cast<size_t>(to + i)] = given[from[0] + i * plan.inner_strides[0]];
    });
  }

  std::vector<C> values_;
  int64_t row_step_ = 0, column_step_ = 0;
};

struct Rows {
  int64_t count = 1, columns = 1;
};

Result<Rows> rows_of(const KernelContext& ctx, int64_t given_axis) {
  const auto shape = ctx.input(0).shape;
  EC_TRY(const int64_t axis, kernel_axis(ctx, given_axis, shape.size()));
  for (size_t i = 1; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && !broadcasts_to(ctx.input(i).shape, shape))
      return ctx.fail("a parameter does not broadcast to the input");
  const auto at = static_cast<size_t>(axis);
  return Rows{count_elements(shape.first(at)), count_elements(shape.subspan(at))};
}

// --- layer_norm, rms_norm -----------------------------------------------------------------------
template <class C>
void layer_norm_as(KernelContext& ctx, const Rows& rows) {
  const auto epsilon = static_cast<double>(ctx.attrs<LayerNormAttrs>().epsilon);
  const Reader<C> x(ctx.input(0));
  const RowParameter<C> scale(ctx, 1, rows.columns, C{1}), bias(ctx, 2, rows.columns, C{0});
  Writer<C> y(ctx.output(0));
  std::vector<double> means(ctx.num_outputs() > 1 ? static_cast<size_t>(rows.count) : 0);
  std::vector<double> inverses(ctx.num_outputs() > 2 ? static_cast<size_t>(rows.count) : 0);
  const auto columns = static_cast<double>(rows.columns);
  for (int64_t r = 0; r < rows.count; ++r) {
    const C* in = x.data() + r * rows.columns;
    C* out = y.data() + r * rows.columns;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < rows.columns; ++i) sum += static_cast<double>(in[i]);
    const double mean = sum / columns;
    for (int64_t i = 0; i < rows.columns; ++i) {
      const double d = static_cast<double>(in[i]) - mean;
      squares += d * d;
    }
    const double inverse = 1.0 / std::sqrt(squares / columns + epsilon);
    for (int64_t i = 0; i < rows.columns; ++i) {
      const double normal = (static_cast<double>(in[i]) - mean) * inverse;
      out[i] = static_cast<C>(normal * static_cast<double>(scale.at(r, i)) +
                              static_cast<double>(bias.at(r, i)));
    }
    if (!means.empty()) means[static_cast<size_t>(r)] = mean;
    if (!inverses.empty()) inverses[static_cast<size_t>(r)] = inverse;
  }
  y.commit();
  if (ctx.num_outputs() > 1) store<double>(ctx.output(1), means);
  if (ctx.num_outputs() > 2) store<double>(ctx.output(2), inverses);
}

Status layer_norm(KernelContext& ctx) {
  EC_TRY(const Rows rows, rows_of(ctx, ctx.attrs<LayerNormAttrs>().axis));
  if (ctx.input(0).count() == 0 && ctx.num_outputs() == 1) return {};
  with_float_type(ctx.input(0).dtype, [&](auto c) { layer_norm_as<decltype(c)>(ctx, rows); });
  return {};
}

template <class C>
void rms_norm_as(KernelContext& ctx, const Rows& rows) {
  const auto epsilon = static_cast<double>(ctx.attrs<LayerNormAttrs>().epsilon);
  const Reader<C> x(ctx.input(0));
  const RowParameter<C> scale(ctx, 1, rows.columns, C{1});
  Writer<C> y(ctx.output(0));
  for (int64_t r = 0; r < rows.count; ++r) {
    const C* in = x.data() + r * rows.columns;
    C* out = y.data() + r * rows.columns;
    double squares = 0.0;
    for (int64_t i = 0; i < rows.columns; ++i)
      squares += static_cast<double>(in[i]) * static_cast<double>(in[i]);
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(rows.columns) + epsilon);
    for (int64_t i = 0; i < rows.columns; ++i)
      out[i] = static_cast<C>(static_cast<double>(in[i]) * inverse *
                              static_cast<double>(scale.at(r, i)));
  }
  y.commit();
}

Status rms_norm(KernelContext& ctx) {
  EC_TRY(const Rows rows, rows_of(ctx, ctx.attrs<LayerNormAttrs>().axis));
  if (ctx.input(0).count() == 0 && ctx.num_outputs() == 1) return {};
  const bool wide = ctx.input(0).dtype == DType::F64 || ctx.output(0).dtype == DType::F64;
  if (wide)
    rms_norm_as<double>(ctx, rows);
  else
    rms_norm_as<float>(ctx, rows);
  return {};
}

Status infer_layer_norm(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  for (size_t i = 1; i < 3; ++i) {
    if (!ctx.has(i)) continue;
    EC_CHECK_OK(check_type(ctx, i, kFloats));
    EC_CHECK_OK(check_broadcasts(ctx, i));
  }
  std::optional<Shape> statistics = ctx.shape(0);
  if (statistics) {
    const int64_t axis = ctx.attrs<LayerNormAttrs>().axis;
    for (auto d = static_cast<size_t>(axis); d < statistics->rank(); ++d) (*statistics)[d] = 1;
  }
  EC_CHECK_OK(infer_same_as_first(ctx));
  for (size_t i = 1; i < ctx.num_outputs(); ++i) ctx.set(i, DType::F32, statistics);
  return {};
}

Status infer_rms_norm(InferContext& ctx) {
  EC_CHECK_OK(infer_layer_norm(ctx));
  // The result has the type of the scale, as the product has.
  if (ctx.has(1)) ctx.set(0, ctx.dtype(1), ctx.shape(0));
  return {};
}

// --- lp_norm ------------------------------------------------------------------------------------
template <class C>
void lp_norm_as(KernelContext& ctx, const AxisSplit& split) {
  const bool squares = ctx.attrs<LpNormAttrs>().p == 2;
  const Reader<C> x(ctx.input(0));
  Writer<C> y(ctx.output(0));
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      const int64_t first = o * split.size * split.inner + i;
      double sum = 0.0;
      for (int64_t k = 0; k < split.size; ++k) {
        const auto v = static_cast<double>(x[static_cast<size_t>(first + k * split.inner)]);
        sum += squares ? v * v : std::fabs(v);
      }
      const double norm = squares ? std::sqrt(sum) : sum;
      for (int64_t k = 0; k < split.size; ++k) {
        const auto at = static_cast<size_t>(first + k * split.inner);
        y[at] = norm == 0.0 ? C{0} : static_cast<C>(static_cast<double>(x[at]) / norm);
      }
    }
  y.commit();
}

Status lp_norm(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const int64_t axis = ctx.attrs<LpNormAttrs>().axis;
  if (x.count() == 0) return {};
  const AxisSplit split = split_at_axis(x.shape, axis);
  with_float_type(x.dtype, [&](auto c) { lp_norm_as<decltype(c)>(ctx, split); });
  return {};
}

Status infer_lp_norm(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  return infer_same_as_first(ctx);
}

// --- lrn ----------------------------------------------------------------------------------------
template <class C>
void lrn_as(KernelContext& ctx, const AxisSplit& split) {
  const auto& attrs = ctx.attrs<LrnAttrs>();
  const Reader<C> x(ctx.input(0));
  Writer<C> y(ctx.output(0));
  // Windows wider than the channels see them all.
  const int64_t reach = std::min(attrs.size - 1, 2 * split.size);
  const int64_t before = reach / 2, after = reach - before;
  const double alpha = static_cast<double>(attrs.alpha) / static_cast<double>(attrs.size);
  const auto at = [&](int64_t o, int64_t c, int64_t i) {
    return static_cast<size_t>((o * split.size + c) * split.inner + i);
  };
  Ticker ticker;
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t c = 0; c < split.size; ++c) {
      const int64_t first = std::max<int64_t>(0, c - before);
      const int64_t last = std::min(split.size - 1, c + after);
      for (int64_t i = 0; i < split.inner; ++i) {
        if (ticker.tick(32 + last - first)) return;
        double squares = 0.0;
        for (int64_t k = first; k <= last; ++k) {
          const auto v = static_cast<double>(x[at(o, k, i)]);
          squares += v * v;
        }
        const double divisor = std::pow(static_cast<double>(attrs.bias) + alpha * squares,
                                        static_cast<double>(attrs.beta));
        y[at(o, c, i)] = static_cast<C>(static_cast<double>(x[at(o, c, i)]) / divisor);
      }
    }
  y.commit();
}

Status lrn(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  if (x.count() == 0) return {};
  const bool last = ctx.attrs<LrnAttrs>().layout == Layout::ChannelsLast;
  EC_TRY(const int64_t axis, kernel_axis(ctx, last ? -1 : 1, x.rank()));
  const AxisSplit split = split_at_axis(x.shape, axis);
  with_float_type(x.dtype, [&](auto c) { lrn_as<decltype(c)>(ctx, split); });
  return {};
}

Status infer_lrn(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kFloats));
  return infer_same_as_first(ctx);
}

}  // namespace

constexpr Rule kLayerNormRules[] = {rule::axis("axis", "x")};
EC_OP_DEF(LayerNorm, .signature = "(x, scale?, bias?) -> (y, mean?, inv_std_dev?)",
          .summary =
              "Normalises all dimensions from axis on to mean 0 and variance 1, then scales "
              "and shifts with parameters that broadcast to x.",
          .rules = kLayerNormRules, .infer = infer_layer_norm, .reference = layer_norm,
          .quant = QuantRule::Free, .layout = LayoutRule::Fixed);
EC_OP_DEF(RmsNorm, .signature = "(x, scale?) -> y",
          .summary = "x / sqrt(mean(x^2) + epsilon) * scale over all dimensions from axis on.",
          .rules = kLayerNormRules, .infer = infer_rms_norm, .reference = rms_norm,
          .quant = QuantRule::Free, .layout = LayoutRule::Fixed);
constexpr Rule kLpNormRules[] = {rule::axis("axis", "x"), rule::between("p", 1, 2)};
EC_OP_DEF(LpNorm, .signature = "(x) -> y",
          .summary = "x divided by its L1 or L2 norm along an axis; 0 where the norm is 0.",
          .rules = kLpNormRules, .infer = infer_lp_norm, .reference = lp_norm,
          .quantized = quantized::lp_norm, .quant = QuantRule::FixedOutput,
          .layout = LayoutRule::AxisAttr);
constexpr Rule kLrnRules[] = {rule::min_rank("x", 2), rule::between("size", 1, INT64_MAX)};
EC_OP_DEF(Lrn, .signature = "(x) -> y",
          .summary =
              "x / (bias + alpha / size * sum of squares over size neighbouring channels) ^ "
              "beta.",
          .rules = kLrnRules, .infer = infer_lrn, .reference = lrn,
          .layout = LayoutRule::FollowsInput);

}  // namespace ec::ops
