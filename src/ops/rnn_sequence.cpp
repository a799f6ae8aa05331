// rnn_sequence and svdf: the plain recurrent cell and the low-rank filter layer of TFLite.
#include "ops/define.h"
#include "ops/move.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/real.h"
#include "ops/sequence_cell.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

Dim dim_of(const InferContext& ctx, size_t operand, size_t axis) {
  if (!ctx.has(operand) || !ctx.shape(operand) || ctx.shape(operand)->rank() <= axis)
    return Dim::unknown();
  return (*ctx.shape(operand))[axis];
}

Status check_input(const InferContext& ctx, size_t least, size_t most) {
  if (!carries_parameters(ctx) && !is_float(ctx.dtype(0)))
    return ctx.bad_type("input is " + operand_text(ctx, 0) + "; it must be floating point");
  const auto& x = ctx.shape(0);
  if (x && (x->rank() < least || x->rank() > most))
    return ctx.bad_shape("input has the wrong number of dimensions: " + operand_text(ctx, 0));
  return {};
}

// Fails unless the operand is absent or has these sizes.
Status expect_sizes(const KernelContext& ctx, size_t i, std::initializer_list<int64_t> sizes) {
  if (!ctx.has(i) || std::ranges::equal(ctx.input(i).shape, sizes)) return {};
  return ctx.fail("operand " + std::to_string(i) + " is " + Shape::of(ctx.input(i).shape).text() +
                  " where " + Shape::of(std::vector<int64_t>(sizes)).text() + " is needed");
}

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// --- rnn_sequence -------------------------------------------------------------------------------

Status infer_rnn(InferContext& ctx) {
  EC_CHECK_OK(check_input(ctx, 2, 3));
  const auto& x = ctx.shape(kRnnInput);
  const Dim units = dim_of(ctx, kRnnWeights, 0);
  const bool time_major = ctx.attrs<RnnSequenceAttrs>().time_major;
  const Dim batch = dim_of(ctx, kRnnInput, x && x->rank() == 3 && time_major ? 1 : 0);
  std::optional<Shape> y;
  if (x) {
    y = *x;
    (*y)[x->rank() - 1] = units;
  }
  ctx.set(0, ctx.dtype(kRnnInput), std::move(y));
  const DType state = ctx.has(kRnnState) ? ctx.dtype(kRnnState) : ctx.dtype(kRnnInput);
  if (ctx.num_outputs() > 1) ctx.set(1, state, Shape{batch, units});
  return {};
}

Status rnn_sequence(KernelContext& ctx) {
  EC_CHECK_OK(check_rnn_operands(ctx));
  const auto& attrs = ctx.attrs<RnnSequenceAttrs>();
  const SequenceShape s(ctx.input(kRnnInput).shape, attrs.time_major);
  const auto units = static_cast<size_t>(ctx.input(kRnnWeights).shape[0]);
  const auto in = static_cast<size_t>(s.in);
  EC_TRY(const std::vector<float> x, real_values(ctx, kRnnInput));
  EC_TRY(const std::vector<float> w, real_values(ctx, kRnnWeights));
  EC_TRY(const std::vector<float> r, real_values(ctx, kRnnRecurrent));
  std::vector<float> bias(units, 0.0f), state(static_cast<size_t>(s.batch) * units, 0.0f);
  if (ctx.has(kRnnBias)) load<float>(ctx.input(kRnnBias), bias);
  if (ctx.has(kRnnState)) load<float>(ctx.input(kRnnState), state);
  std::vector<float> y(static_cast<size_t>(s.batch * s.steps) * units), next(units);
  Ticker ticker;
  for (int64_t step = 0; step < s.steps; ++step)
    for (int64_t b = 0; b < s.batch; ++b) {
      if (ticker.tick(static_cast<int64_t>(units * (8 + in + units)))) return {};
      const size_t row = s.row(step, b);
      const auto h = std::span(state).subspan(static_cast<size_t>(b) * units, units);
      const auto xs = std::span(x).subspan(row * in, in);
      for (size_t u = 0; u < units; ++u)
        next[u] = activate(attrs, bias[u] + dot(std::span(w).subspan(u * in, in), xs) +
                                      dot(std::span(r).subspan(u * units, units), h));
      std::copy(next.begin(), next.end(), h.begin());
      std::copy(next.begin(), next.end(), y.begin() + static_cast<std::ptrdiff_t>(row * units));
    }
  store<float>(ctx.output(0), y);
  if (ctx.num_outputs() > 1) store<float>(ctx.output(1), state);
  return {};
}

// --- svdf ---------------------------------------------------------------------------------------

Status infer_svdf(InferContext& ctx) {
  EC_CHECK_OK(check_input(ctx, 2, 2));
  const int64_t rank = ctx.attrs<SvdfAttrs>().rank;
  const Dim filters = dim_of(ctx, kSvdfFeature, 0);
  if (rank < 1 || (filters.is_static() && filters.size() % rank != 0))
    return ctx.bad_value("rank " + std::to_string(rank) + " does not divide " + filters.text() +
                         " filters");
  const Dim units = filters.is_static() ? Dim(filters.size() / rank) : Dim::unknown();
  ctx.set(0, ctx.dtype(kSvdfInput), Shape{dim_of(ctx, kSvdfInput, 0), units});
  if (ctx.num_outputs() < 2) return {};
  if (!ctx.has(kSvdfState)) return ctx.bad_value("the state as a result needs a state operand");
  ctx.set(1, ctx.dtype(kSvdfState), ctx.shape(kSvdfState));
  return {};
}

// The state holds, per filter, the last feature products, the newest at the end.
Status svdf(KernelContext& ctx) {
  EC_CHECK_OK(check_svdf_operands(ctx));
  const auto& attrs = ctx.attrs<SvdfAttrs>();
  const auto batch = static_cast<size_t>(ctx.input(kSvdfInput).shape[0]);
  const auto in = static_cast<size_t>(ctx.input(kSvdfInput).shape[1]);
  const auto filters = static_cast<size_t>(ctx.input(kSvdfTime).shape[0]);
  const auto memory = static_cast<size_t>(ctx.input(kSvdfTime).shape[1]);
  const size_t rank = static_cast<size_t>(attrs.rank), units = filters / rank;
  EC_TRY(const std::vector<float> x, real_values(ctx, kSvdfInput));
  EC_TRY(const std::vector<float> feature, real_values(ctx, kSvdfFeature));
  EC_TRY(const std::vector<float> time, real_values(ctx, kSvdfTime));
  std::vector<float> bias(units, 0.0f), state(batch * filters * memory, 0.0f);
  if (ctx.has(kSvdfBias)) load<float>(ctx.input(kSvdfBias), bias);
  if (ctx.has(kSvdfState)) load<float>(ctx.input(kSvdfState), state);
  std::vector<float> y(batch * units);
  for (size_t b = 0; b < batch; ++b)
    for (size_t u = 0; u < units; ++u) {
      float sum = bias[u];
      for (size_t f = u * rank; f < (u + 1) * rank; ++f) {
        const auto past = std::span(state).subspan((b * filters + f) * memory, memory);
        std::copy(past.begin() + 1, past.end(), past.begin());
        past.back() = dot(std::span(feature).subspan(f * in, in), std::span(x).subspan(b * in, in));
        sum += dot(std::span(time).subspan(f * memory, memory), past);
      }
      y[b * units + u] = activate(attrs, sum);
    }
  store<float>(ctx.output(0), y);
  if (ctx.num_outputs() > 1) store<float>(ctx.output(1), state);
  return {};
}

}  // namespace

Status check_rnn_operands(const KernelContext& ctx) {
  const ConstView &x = ctx.input(kRnnInput), &w = ctx.input(kRnnWeights);
  if (w.rank() != 2) return ctx.fail("weights must be a matrix");
  const SequenceShape s(x.shape, ctx.attrs<RnnSequenceAttrs>().time_major);
  const int64_t units = w.shape[0];
  EC_CHECK_OK(expect_sizes(ctx, kRnnWeights, {units, s.in}));
  EC_CHECK_OK(expect_sizes(ctx, kRnnRecurrent, {units, units}));
  EC_CHECK_OK(expect_sizes(ctx, kRnnBias, {units}));
  return expect_sizes(ctx, kRnnState, {s.batch, units});
}

Status check_svdf_operands(const KernelContext& ctx) {
  const ConstView &x = ctx.input(kSvdfInput), &time = ctx.input(kSvdfTime);
  if (x.rank() != 2 || time.rank() != 2) return ctx.fail("input and time weights must be matrices");
  const int64_t filters = time.shape[0], memory = time.shape[1];
  const int64_t rank = ctx.attrs<SvdfAttrs>().rank;
  if (memory < 1 || rank < 1 || filters % rank != 0)
    return ctx.fail("the memory is empty or the rank does not divide the filters");
  EC_CHECK_OK(expect_sizes(ctx, kSvdfFeature, {filters, x.shape[1]}));
  EC_CHECK_OK(expect_sizes(ctx, kSvdfBias, {filters / rank}));
  return expect_sizes(ctx, kSvdfState, {x.shape[0], filters * memory});
}

constexpr Rule kRnnSequenceRules[] = {rule::rank("x", 2, 3), rule::rank("weights", 2),
                                      rule::rank("recurrent", 2), rule::rank("bias", 1)};
EC_OP_DEF(RnnSequence, .signature = "(x, weights, recurrent, bias?, state?) -> (y, state?)",
          .summary =
              "activation(weights x + recurrent h + bias) step by step; h is the result of the "
              "step before. The last one is the second result.",
          .rules = kRnnSequenceRules, .infer = infer_rnn, .reference = rnn_sequence,
          .layout = LayoutRule::Fixed);
constexpr Rule kSvdfRules[] = {rule::rank("x", 2), rule::rank("feature_weights", 2),
                               rule::rank("time_weights", 2), rule::rank("bias", 1),
                               rule::at_least("rank", 1)};
EC_OP_DEF(Svdf, .signature = "(x, feature_weights, time_weights, bias?, state?) -> (y, state?)",
          .summary =
              "Low-rank filter over time: feature products of the last steps, kept in the state, "
              "weighted per step and summed over the rank of each unit; then bias and activation.",
          .rules = kSvdfRules, .infer = infer_svdf, .reference = svdf, .quantized = quantized::svdf,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
