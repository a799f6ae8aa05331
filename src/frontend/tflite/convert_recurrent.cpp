// Recurrent layers. The IR's ops keep TFLite's operands; what differs is the single step (LSTM,
// RNN), which becomes a sequence of one, and the two directions, which become two ops.
#include <algorithm>

#include "formats/tflite/check_tensor.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/table.h"
#include "frontend/tflite/types.h"

namespace ec::tflite {
namespace {

template <class A>
Status set_activation(const OpContext& ctx, ActivationFunctionType activation, A& attrs) {
  EC_TRY(const FusedActivation fused, fused_activation(ctx, activation));
  attrs.activation = fused.kind;
  attrs.act_alpha = fused.alpha;
  attrs.act_beta = fused.beta;
  return {};
}

// Parameters of values inside the cell, which the file lists as tensors that nobody reads.
void set_intermediates(const OpContext& ctx, LstmSequenceAttrs& attrs) {
  const auto* list = ctx.source().intermediates();
  for (uint32_t i = 0; i < size_of(list) && i < 16; ++i) {
    std::optional<QuantParams> quant;
    if (list->Get(i) >= 0) quant = quant_params(ctx.scope().tensor(list->Get(i)));
    attrs.intermediate_scales.push_back(quant ? quant->scales[0] : 0.0f);
    attrs.intermediate_zero_points.push_back(quant ? quant->zero_points[0] : 0);
  }
}

// The operator's inputs that are its states; the op has the new states as further results.
using States = std::initializer_list<size_t>;
constexpr States kLstmStates = {18, 19}, kCellState = {4};

// The op with its first result. Variables among the states get the values after the last step.
Result<ec::Tensor*> add_recurrent(OpContext& ctx, OpKind kind, std::vector<ec::Tensor*> inputs,
                                  Attrs attrs, States states) {
  const auto is_state = [&](size_t i) {
    return ctx.has(i) && ctx.importer().is_state(ctx.scope(), ctx.input_index(i));
  };
  const bool keeps = std::any_of(states.begin(), states.end(), is_state);
  EC_TRY(Operation * op,
         ctx.add_op(kind, std::move(inputs), std::move(attrs), keeps ? states.size() + 1 : 1));
  ec::Tensor* y = op->output(0);
  // The result has the operator's parameters also where reshaping follows.
  if (is_integer(y->dtype())) ctx.graph().set_quant(y, ctx.out_quant());
  size_t result = 1;
  for (const size_t i : states) {
    if (keeps && ctx.has(i)) {
      ctx.graph().set_quant(op->output(result), ctx.in(i)->type().quant);
      if (is_state(i))
        ctx.importer().assign_variable_tensor(ctx.scope(), ctx.input_index(i), op->output(result));
    }
    ++result;
  }
  return y;
}

// The same for operators whose only output is that result.
Status finish_recurrent(OpContext& ctx, OpKind kind, Attrs attrs, States states) {
  EC_TRY(ec::Tensor * y, add_recurrent(ctx, kind, ctx.tensors(), std::move(attrs), states));
  return ctx.set(0, y);
}

Status unidirectional_lstm(OpContext& ctx) {
  const auto& options = ctx.options<UnidirectionalSequenceLSTMOptions>();
  LstmSequenceAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.cell_clip = options.cell_clip();
  attrs.projection_clip = options.proj_clip();
  attrs.time_major = options.time_major();
  attrs.diagonal_recurrent = options.diagonal_recurrent_tensors();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  set_intermediates(ctx, attrs);
  return finish_recurrent(ctx, OpKind::LstmSequence, attrs, kLstmStates);
}

Status lstm(OpContext& ctx) {
  const auto& options = ctx.options<LSTMOptions>();
  if (options.kernel_type() != LSTMKernelType::FULL)
    return ctx.unsupported("the basic form of LSTM (one matrix for all gates) is not supported");
  LstmSequenceAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.cell_clip = options.cell_clip();
  attrs.projection_clip = options.proj_clip();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  set_intermediates(ctx, attrs);
  std::vector<ec::Tensor*> inputs = ctx.tensors();
  EC_TRY(inputs[0], ctx.unsqueeze(inputs[0], std::vector<int64_t>{1}));
  EC_TRY(ec::Tensor * y,
         add_recurrent(ctx, OpKind::LstmSequence, std::move(inputs), attrs, kLstmStates));
  EC_TRY(y, ctx.squeeze(y, std::vector<int64_t>{1}));
  return ctx.set(0, y);
}

// Operands of one direction: 17 weights and biases from `first` on, two states from `state` on.
std::vector<ec::Tensor*> direction_inputs(const OpContext& ctx, ec::Tensor* x, size_t first,
                                          size_t state) {
  std::vector<ec::Tensor*> inputs = {x};
  for (size_t i = first; i < first + 17; ++i) inputs.push_back(ctx.in(i));
  inputs.push_back(ctx.in(state));
  inputs.push_back(ctx.in(state + 1));
  return inputs;
}

Status bidirectional_lstm(OpContext& ctx) {
  const auto& options = ctx.options<BidirectionalSequenceLSTMOptions>();
  for (size_t i = 39; i < ctx.num_inputs(); ++i)
    if (ctx.has(i)) return ctx.unsupported("auxiliary inputs are not supported");
  LstmSequenceAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.cell_clip = options.cell_clip();
  attrs.projection_clip = options.proj_clip();
  attrs.time_major = options.time_major();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  ReverseAttrs time;
  time.axes = {attrs.time_major ? 0 : 1};
  EC_TRY(ec::Tensor * forward,
         add_recurrent(ctx, OpKind::LstmSequence, direction_inputs(ctx, ctx.in(0), 1, 35), attrs,
                       {35, 36}));
  EC_TRY(ec::Tensor * turned, ctx.add(OpKind::Reverse, {ctx.in(0)}, time));
  EC_TRY(ec::Tensor * backward,
         add_recurrent(ctx, OpKind::LstmSequence, direction_inputs(ctx, turned, 18, 37), attrs,
                       {37, 38}));
  EC_TRY(backward, ctx.add(OpKind::Reverse, {backward}, time));
  if (options.merge_outputs()) {
    AxisAttrs last;
    last.axis = 2;
    return ctx.finish(OpKind::Concat, {forward, backward}, last);
  }
  EC_CHECK_OK(ctx.set(0, forward));
  return ctx.set(1, backward);
}

Status unidirectional_rnn(OpContext& ctx) {
  const auto& options = ctx.options<SequenceRNNOptions>();
  RnnSequenceAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.time_major = options.time_major();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  return finish_recurrent(ctx, OpKind::RnnSequence, attrs, kCellState);
}

Status rnn(OpContext& ctx) {
  const auto& options = ctx.options<RNNOptions>();
  RnnSequenceAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  std::vector<ec::Tensor*> inputs = ctx.tensors();
  EC_TRY(inputs[0], ctx.unsqueeze(inputs[0], std::vector<int64_t>{1}));
  EC_TRY(ec::Tensor * y,
         add_recurrent(ctx, OpKind::RnnSequence, std::move(inputs), attrs, kCellState));
  EC_TRY(y, ctx.squeeze(y, std::vector<int64_t>{1}));
  return ctx.set(0, y);
}

Status svdf(OpContext& ctx) {
  const auto& options = ctx.options<SVDFOptions>();
  SvdfAttrs attrs;
  EC_CHECK_OK(set_activation(ctx, options.fused_activation_function(), attrs));
  attrs.rank = options.rank();
  attrs.asymmetric_quantize_inputs = options.asymmetric_quantize_inputs();
  return finish_recurrent(ctx, OpKind::Svdf, attrs, kCellState);
}

constexpr Arity k1{1, 1}, kLstm{1, 24};

constexpr OpRow kRows[] = {
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, kLstm, k1, unidirectional_lstm},
    {BuiltinOperator::LSTM, kLstm, k1, lstm},
    {BuiltinOperator::BIDIRECTIONAL_SEQUENCE_LSTM, {39, 48}, {1, 2}, bidirectional_lstm},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_RNN, {3, 5}, k1, unidirectional_rnn},
    {BuiltinOperator::RNN, {3, 5}, k1, rnn},
    {BuiltinOperator::SVDF, {3, 5}, k1, svdf},
};

}  // namespace

const std::span<const OpRow> kRecurrentRows = kRows;

}  // namespace ec::tflite
