// Activations and softmax.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status relu6(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, ctx.clip(ctx.in(0), 0.0, 6.0));
  return ctx.set(0, y);
}

template <OpKind kKind>
Status along_last(OpContext& ctx) {
  AxisAttrs attrs;
  attrs.axis = -1;
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

Status leaky_relu(OpContext& ctx) {
  LeakyReluAttrs attrs;
  attrs.alpha = ctx.attr_float("alpha", 0.2f);
  return ctx.finish(OpKind::LeakyRelu, {ctx.in(0)}, attrs);
}

Status elu(OpContext& ctx) { return ctx.finish(OpKind::Elu, {ctx.in(0)}, AlphaAttrs{}); }
Status selu(OpContext& ctx) { return ctx.finish(OpKind::Selu, {ctx.in(0)}, SeluAttrs{}); }

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"Relu", k1, direct<OpKind::Relu>},
    {"Relu6", k1, relu6},
    {"Elu", k1, elu},
    {"Selu", k1, selu},
    {"LeakyRelu", k1, leaky_relu},
    {"Sigmoid", k1, direct<OpKind::Sigmoid>},
    {"Tanh", k1, direct<OpKind::Tanh>},
    {"Softplus", k1, direct<OpKind::Softplus>},
    {"Softsign", k1, direct<OpKind::Softsign>},
    {"Softmax", k1, along_last<OpKind::Softmax>},
    {"LogSoftmax", k1, along_last<OpKind::LogSoftmax>},
};

}  // namespace

const std::span<const OpRow> kActivationRows = kRows;

}  // namespace ec::tf
