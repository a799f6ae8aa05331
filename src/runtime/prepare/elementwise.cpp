// Element-wise operations on f32.
#include "runtime/kernels/elementwise.h"

#include <limits>

#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

using kernels::BinaryOp;
using kernels::Epilogue;
using kernels::UnaryOp;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::optional<Epilogue> clip_bounds(const OpInstance& op) {
  Epilogue e{UnaryOp::Clamp, -kInf, kInf};
  if (op.has(1)) {
    const auto low = constant_scalar(op, 1);
    if (!low) return std::nullopt;
    e.alpha = *low;
  }
  if (op.has(2)) {
    const auto high = constant_scalar(op, 2);
    if (!high) return std::nullopt;
    e.beta = *high;
  }
  return e;
}

std::optional<Epilogue> function_of(const OpInstance& op) {
  const auto plain = [](UnaryOp u) { return Epilogue{u, 0.0F, 0.0F}; };
  switch (op.op.kind()) {
    case OpKind::Relu:
      return Epilogue{UnaryOp::Clamp, 0.0F, kInf};
    case OpKind::Clip:
      return clip_bounds(op);
    case OpKind::LeakyRelu:
      return Epilogue{UnaryOp::LeakyRelu, op.attrs<LeakyReluAttrs>().alpha, 0.0F};
    case OpKind::Elu:
      return Epilogue{UnaryOp::Elu, op.attrs<AlphaAttrs>().alpha, 0.0F};
    case OpKind::HardSigmoid: {
      const auto& attrs = op.attrs<HardSigmoidAttrs>();
      return Epilogue{UnaryOp::HardSigmoid, attrs.alpha, attrs.beta};
    }
    case OpKind::HardSwish:
      return plain(UnaryOp::HardSwish);
    case OpKind::Sigmoid:
      return plain(UnaryOp::Sigmoid);
    case OpKind::Silu:
      if (op.attrs<SiluAttrs>().alpha != 1.0F) return std::nullopt;
      return plain(UnaryOp::Silu);
    case OpKind::Gelu:
      return plain(op.attrs<GeluAttrs>().form == GeluForm::Tanh ? UnaryOp::GeluTanh
                                                                : UnaryOp::Gelu);
    case OpKind::Tanh:
      return plain(UnaryOp::Tanh);
    case OpKind::Exp:
      return plain(UnaryOp::Exp);
    case OpKind::Log:
      return plain(UnaryOp::Log);
    case OpKind::Erf:
      return plain(UnaryOp::Erf);
    case OpKind::Softplus:
      return plain(UnaryOp::Softplus);
    case OpKind::Mish:
      return plain(UnaryOp::Mish);
    case OpKind::Sqrt:
      return plain(UnaryOp::Sqrt);
    case OpKind::Rsqrt:
      return plain(UnaryOp::Rsqrt);
    case OpKind::Reciprocal:
      return plain(UnaryOp::Reciprocal);
    case OpKind::Neg:
      return plain(UnaryOp::Neg);
    case OpKind::Abs:
      return plain(UnaryOp::Abs);
    case OpKind::Floor:
      return plain(UnaryOp::Floor);
    case OpKind::Ceil:
      return plain(UnaryOp::Ceil);
    default:
      return std::nullopt;
  }
}

std::optional<BinaryOp> binary_of(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
      return BinaryOp::Add;
    case OpKind::Sub:
      return BinaryOp::Sub;
    case OpKind::Mul:
      return BinaryOp::Mul;
    case OpKind::Div:
      return BinaryOp::Div;
    case OpKind::Min:
      return BinaryOp::Min;
    case OpKind::Max:
      return BinaryOp::Max;
    default:
      return std::nullopt;
  }
}

Prepared apply(Epilogue e, int64_t count, const PrepareContext& ctx) {
  const kernels::KernelTable* table = &ctx.table;
  return make_op(
      [e, count, table](const RunArgs& args) {
        kernels::run_unary(*table, e.op, args.in(0), args.out(), count, e.alpha, e.beta, args.pool);
      },
      0, 0b1);
}

// Powers that networks use, as cheaper functions.
Prepared power(const OpInstance& op, const PrepareContext& ctx) {
  const auto exponent = constant_scalar(op, 1);
  if (!exponent || op.output().shape != op.input(0).shape) return nullptr;
  const int64_t count = op.output().count();
  if (*exponent == 2.0F) return apply({UnaryOp::Square, 0.0F, 0.0F}, count, ctx);
  if (*exponent == 1.0F) return apply({UnaryOp::Identity, 0.0F, 0.0F}, count, ctx);
  if (*exponent == -1.0F) return apply({UnaryOp::Reciprocal, 0.0F, 0.0F}, count, ctx);
  return nullptr;
}

}  // namespace

Prepared unary(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op)) return nullptr;
  const auto function = function_of(op);
  if (!function) return nullptr;
  return apply(*function, op.output().count(), ctx);
}

Prepared binary(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op)) return nullptr;
  if (op.op.kind() == OpKind::Pow) return power(op, ctx);
  const auto fn = binary_of(op.op.kind());
  if (!fn || op.inputs.size() != 2 || !op.has(0) || !op.has(1)) return nullptr;
  const kernels::BinaryPlan plan(op.input(0).shape, op.input(1).shape);
  const kernels::KernelTable* table = &ctx.table;
  uint32_t in_place = 0;
  for (uint32_t i = 0; i < 2; ++i)
    if (op.input(i).shape == op.output().shape) in_place |= 1U << i;
  return make_op(
      [plan, table, fn = *fn](const RunArgs& args) {
        plan.run(*table, fn, args.in(0), args.in(1), args.out(), args.pool);
      },
      0, in_place);
}

}  // namespace ec::prepare
