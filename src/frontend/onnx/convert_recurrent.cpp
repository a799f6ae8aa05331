// LSTM, GRU and RNN.
#include "frontend/onnx/quantized.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

template <OpKind kKind>
Result<RecurrentAttrs> recurrent_attrs(NodeContext& ctx) {
  RecurrentAttrs attrs;
  attrs.direction = ctx.attr_enum("direction", Direction::Forward);
  attrs.activations = ctx.attr_strings("activations");
  attrs.activation_alpha = ctx.attr_floats("activation_alpha");
  attrs.activation_beta = ctx.attr_floats("activation_beta");
  attrs.clip = ctx.attr_float("clip", 0.0f);
  attrs.batch_first = ctx.attr_bool("layout", false);
  if (kKind == OpKind::Lstm) attrs.input_forget = ctx.attr_bool("input_forget", false);
  if (kKind == OpKind::Gru) attrs.linear_before_reset = ctx.attr_bool("linear_before_reset", false);
  ctx.ignore_attr("output_sequence");  // version 1: whether Y is wanted; naming it says so
  // The recurrent weights are [directions, gates * hidden, hidden].
  const auto& weights = ctx.in(2)->shape();
  if (ctx.has_attr("hidden_size")) {
    attrs.hidden_size = ctx.attr_int("hidden_size");
  } else if (weights && weights->rank() == 3 && (*weights)[2].is_static()) {
    attrs.hidden_size = (*weights)[2].size();
  } else {
    return ctx.fail(Code::BadAttribute, "attribute 'hidden_size' is missing");
  }
  return attrs;
}

template <OpKind kKind>
Status recurrent(NodeContext& ctx) {
  EC_TRY(const RecurrentAttrs attrs, recurrent_attrs<kKind>(ctx));
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

// Stored weights [directions, in, 4 * hidden] as real ones [directions, 4 * hidden, in]. Scale and
// zero point are [directions], or [directions, 4 * hidden] when each column has its own.
Result<ec::Tensor*> real_weights(NodeContext& ctx, size_t weights, size_t scale) {
  EC_TRY(const size_t rank, ctx.rank(weights));
  if (rank != 3) return ctx.fail(Code::ShapeMismatch, "weights of three dimensions are needed");
  ec::Tensor* parameters[] = {ctx.in(scale), ctx.in(scale + 1)};
  for (ec::Tensor*& parameter : parameters) {
    if (!parameter->shape() || parameter->shape()->rank() < 1 || parameter->shape()->rank() > 2)
      return ctx.fail(Code::ShapeMismatch,
                      "scales and zero points of one or two dimensions are "
                      "needed, not " +
                          parameter->type().text());
    const bool per_column = parameter->shape()->rank() == 2;
    EC_TRY(parameter, ctx.unsqueeze(parameter, per_column ? std::vector<int64_t>{1}
                                                          : std::vector<int64_t>{1, 2}));
  }
  const DType real = ctx.dtype(0);
  EC_TRY(ec::Tensor * x, centred(ctx, ctx.in(weights), parameters[1], real));
  EC_TRY(x, ctx.add(OpKind::Mul, {x, parameters[0]}));
  TransposeAttrs perm;
  perm.perm = {0, 2, 1};
  return ctx.add(OpKind::Transpose, {x}, perm);
}

// (X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?, W_scale, W_zero, R_scale, R_zero)
Status dynamic_quantize_lstm(NodeContext& ctx) {
  constexpr size_t kWeights = 1, kRecurrent = 2, kBias = 3, kWeightScale = 8, kRecurrentScale = 10;
  for (const size_t i : {kWeightScale, kWeightScale + 1, kRecurrentScale, kRecurrentScale + 1})
    if (!ctx.has(i)) return ctx.fail(Code::BadArity, "input " + std::to_string(i) + " is missing");
  if (!ctx.has_attr("hidden_size"))
    return ctx.fail(Code::BadAttribute, "attribute 'hidden_size' is missing");
  EC_TRY(RecurrentAttrs attrs, recurrent_attrs<OpKind::Lstm>(ctx));
  attrs.dynamic_quantize_inputs = true;
  std::vector<ec::Tensor*> inputs{ctx.in(0)};
  EC_TRY(ec::Tensor * weights, real_weights(ctx, kWeights, kWeightScale));
  EC_TRY(ec::Tensor * recurrent, real_weights(ctx, kRecurrent, kRecurrentScale));
  inputs.insert(inputs.end(), {weights, recurrent});
  for (size_t i = kBias; i < kWeightScale; ++i) inputs.push_back(ctx.in(i));
  while (inputs.back() == nullptr) inputs.pop_back();
  return ctx.finish(OpKind::Lstm, std::move(inputs), attrs);
}

constexpr OpRow kRows[] = {
    {"LSTM", 1, kLatest, {3, 8}, {0, 3}, recurrent<OpKind::Lstm>},
    {"GRU", 1, kLatest, {3, 6}, {0, 2}, recurrent<OpKind::Gru>},
    {"RNN", 1, kLatest, {3, 6}, {0, 2}, recurrent<OpKind::Rnn>},
};

constexpr OpRow kMicrosoft[] = {
    {"DynamicQuantizeLSTM", 1, kLatest, {3, 12}, {0, 3}, dynamic_quantize_lstm},
};

}  // namespace

const std::span<const OpRow> kRecurrentRows = kRows, kMicrosoftRecurrentRows = kMicrosoft;

}  // namespace ec::onnx
