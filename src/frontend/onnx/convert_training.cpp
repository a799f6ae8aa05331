// Optimiser steps of ai.onnx.preview.training, written out in arithmetic.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

// Short names for arithmetic within one node; numbers take the type of the other operand.
class Arithmetic {
 public:
  explicit Arithmetic(NodeContext& ctx) : ctx_(ctx) {}
  Result<ec::Tensor*> add(ec::Tensor* a, ec::Tensor* b) { return ctx_.add(OpKind::Add, {a, b}); }
  Result<ec::Tensor*> sub(ec::Tensor* a, ec::Tensor* b) { return ctx_.add(OpKind::Sub, {a, b}); }
  Result<ec::Tensor*> mul(ec::Tensor* a, ec::Tensor* b) { return ctx_.add(OpKind::Mul, {a, b}); }
  Result<ec::Tensor*> div(ec::Tensor* a, ec::Tensor* b) { return ctx_.add(OpKind::Div, {a, b}); }
  Result<ec::Tensor*> sqrt(ec::Tensor* a) { return ctx_.add(OpKind::Sqrt, {a}); }
  Result<ec::Tensor*> scale(ec::Tensor* a, double factor) {
    return mul(a, ctx_.scalar(a->dtype(), factor));
  }
  Result<ec::Tensor*> shift(ec::Tensor* a, double offset) {
    return add(a, ctx_.scalar(a->dtype(), offset));
  }
  // a * fa + b * fb
  Result<ec::Tensor*> mix(ec::Tensor* a, double fa, ec::Tensor* b, double fb) {
    EC_TRY(a, scale(a, fa));
    EC_TRY(b, scale(b, fb));
    return add(a, b);
  }

 private:
  NodeContext& ctx_;
};

// Operands after the learning rate and the step count: `lists` lists of equal length.
Result<size_t> list_length(NodeContext& ctx, size_t lists) {
  const size_t given = ctx.num_inputs() - 2;
  if (given == 0 || given % lists != 0)
    return ctx.fail(Code::BadArity,
                    "the inputs do not form " + std::to_string(lists) + " lists of equal length");
  for (size_t i = 2; i < ctx.num_inputs(); ++i)
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
  return given / lists;
}

// Whether this is not the first step.
Result<ec::Tensor*> later_step(NodeContext& ctx) {
  return ctx.add(OpKind::Greater, {ctx.in(1), ctx.scalar(ctx.dtype(1), 0)});
}

// (r, t, x..., g..., h...) -> (x..., h...)
Status adagrad(NodeContext& ctx) {
  const double decay = ctx.attr_float("decay_factor", 0.0f);
  const double epsilon = ctx.attr_float("epsilon", 1e-6f);
  const double norm = ctx.attr_float("norm_coefficient", 0.0f);
  EC_TRY(const size_t n, list_length(ctx, 3));
  Arithmetic m(ctx);
  EC_TRY(ec::Tensor * step, ctx.cast(ctx.in(1), ctx.dtype(0)));
  EC_TRY(ec::Tensor * slowing, m.scale(step, decay));
  EC_TRY(slowing, m.shift(slowing, 1.0));
  EC_TRY(ec::Tensor * rate, m.div(ctx.in(0), slowing));
  for (size_t i = 0; i < n; ++i) {
    ec::Tensor *x = ctx.in(2 + i), *g = ctx.in(2 + n + i), *h = ctx.in(2 + 2 * n + i);
    EC_TRY(ec::Tensor * penalty, m.scale(x, norm));
    EC_TRY(g, m.add(penalty, g));
    EC_TRY(ec::Tensor * square, m.mul(g, g));
    EC_TRY(h, m.add(h, square));
    EC_TRY(ec::Tensor * root, m.sqrt(h));
    EC_TRY(root, m.shift(root, epsilon));
    EC_TRY(ec::Tensor * change, m.mul(rate, g));
    EC_TRY(change, m.div(change, root));
    EC_TRY(x, m.sub(x, change));
    ctx.set(i, x);
    ctx.set(n + i, h);
  }
  return {};
}

// The rate with its correction for the first steps: r * sqrt(1 - beta^t) / (1 - alpha^t) for t > 0.
Result<ec::Tensor*> adam_rate(NodeContext& ctx, double alpha, double beta) {
  Arithmetic m(ctx);
  const DType dtype = ctx.dtype(0);
  EC_TRY(ec::Tensor * step, ctx.cast(ctx.in(1), dtype));
  const auto one_minus_power = [&](double base) -> Result<ec::Tensor*> {
    EC_TRY(ec::Tensor * power, ctx.add(OpKind::Pow, {ctx.scalar(dtype, base), step}));
    return m.sub(ctx.scalar(dtype, 1.0), power);
  };
  EC_TRY(ec::Tensor * beta_term, one_minus_power(beta));
  EC_TRY(beta_term, m.sqrt(beta_term));
  EC_TRY(ec::Tensor * alpha_term, one_minus_power(alpha));
  EC_TRY(ec::Tensor * corrected, m.mul(ctx.in(0), beta_term));
  EC_TRY(corrected, m.div(corrected, alpha_term));
  EC_TRY(ec::Tensor * later, later_step(ctx));
  return ctx.add(OpKind::Where, {later, corrected, ctx.in(0)});
}

// (r, t, x..., g..., v..., h...) -> (x..., v..., h...)
Status adam(NodeContext& ctx) {
  const double alpha = ctx.attr_float("alpha", 0.9f), beta = ctx.attr_float("beta", 0.999f);
  const double epsilon = ctx.attr_float("epsilon", 1e-6f);
  const double norm = ctx.attr_float("norm_coefficient", 0.0f);
  const double norm_post = ctx.attr_float("norm_coefficient_post", 0.0f);
  EC_TRY(const size_t n, list_length(ctx, 4));
  Arithmetic m(ctx);
  EC_TRY(ec::Tensor * rate, adam_rate(ctx, alpha, beta));
  for (size_t i = 0; i < n; ++i) {
    ec::Tensor *x = ctx.in(2 + i), *g = ctx.in(2 + n + i);
    ec::Tensor *v = ctx.in(2 + 2 * n + i), *h = ctx.in(2 + 3 * n + i);
    EC_TRY(ec::Tensor * penalty, m.scale(x, norm));
    EC_TRY(g, m.add(penalty, g));
    EC_TRY(ec::Tensor * square, m.mul(g, g));
    EC_TRY(v, m.mix(v, alpha, g, 1.0 - alpha));
    EC_TRY(h, m.mix(h, beta, square, 1.0 - beta));
    EC_TRY(ec::Tensor * root, m.sqrt(h));
    EC_TRY(root, m.shift(root, epsilon));
    EC_TRY(ec::Tensor * change, m.mul(rate, v));
    EC_TRY(change, m.div(change, root));
    EC_TRY(x, m.sub(x, change));
    EC_TRY(x, m.scale(x, 1.0 - norm_post));
    ctx.set(i, x);
    ctx.set(n + i, v);
    ctx.set(2 * n + i, h);
  }
  return {};
}

// (r, t, x..., g..., v...) -> (x..., v...)
Status momentum(NodeContext& ctx) {
  constexpr std::string_view kModes[] = {"standard", "nesterov"};
  const double alpha = ctx.attr_float("alpha", 0.0f), beta = ctx.attr_float("beta", 0.0f);
  const double norm = ctx.attr_float("norm_coefficient", 0.0f);
  const bool nesterov = ctx.attr_choice("mode", kModes, 0) == 1;
  EC_TRY(const size_t n, list_length(ctx, 3));
  Arithmetic m(ctx);
  EC_TRY(ec::Tensor * later, later_step(ctx));
  for (size_t i = 0; i < n; ++i) {
    ec::Tensor *x = ctx.in(2 + i), *g = ctx.in(2 + n + i), *v = ctx.in(2 + 2 * n + i);
    const DType dtype = x->dtype();
    EC_TRY(ec::Tensor * penalty, m.scale(x, norm));
    EC_TRY(g, m.add(penalty, g));
    EC_TRY(ec::Tensor * weight,
           ctx.add(OpKind::Where, {later, ctx.scalar(dtype, beta), ctx.scalar(dtype, 1.0)}));
    EC_TRY(v, m.scale(v, alpha));
    EC_TRY(ec::Tensor * push, m.mul(weight, g));
    EC_TRY(v, m.add(v, push));
    ec::Tensor* change = v;
    if (nesterov) {
      EC_TRY(change, m.scale(v, alpha));
      EC_TRY(change, m.add(g, change));
    }
    EC_TRY(change, m.mul(ctx.in(0), change));
    EC_TRY(x, m.sub(x, change));
    ctx.set(i, x);
    ctx.set(n + i, v);
  }
  return {};
}

constexpr OpRow kRows[] = {
    {"Adagrad", 1, kLatest, {5, kMany}, {1, kMany}, adagrad},
    {"Adam", 1, kLatest, {6, kMany}, {1, kMany}, adam},
    {"Momentum", 1, kLatest, {5, kMany}, {1, kMany}, momentum},
};

}  // namespace

const std::span<const OpRow> kTrainingRows = kRows;

}  // namespace ec::onnx
