// Recurrent layers with the operators that files have for them. Their state is a variable tensor:
// zeros before the first run, kept by the runtime from one run to the next.
#include <algorithm>

#include "ops/convert.h"
#include "writer/tflite/emit_state.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

Result<ActivationFunctionType> cell_activation(const OpEmitter& e, Activation kind, float alpha,
                                               float beta) {
  if (kind == Activation::Tanh) return ActivationFunctionType::TANH;
  const auto code = activation_code(fused_clamp(kind, alpha, beta));
  if (!code) return e.fail("an activation that is not tanh, relu, relu6 or [-1, 1]");
  return *code;
}

bool is_stored_zero(const ec::Tensor& tensor) {
  const std::vector<double> values = constant_values(tensor);
  const double zero = tensor.type().quant ? tensor.type().quant->zero_points[0] : 0;
  return std::all_of(values.begin(), values.end(), [zero](double v) { return v == zero; });
}

// The operator's variable for its state number k. Each state is a tensor of its own, also where the
// graph shares the zeros they start from.
Result<int32_t> state(OpEmitter& e, size_t i, size_t k) {
  if (!e.has(i)) return -1;
  const auto kept = cell_state(e.op(), k);
  const ec::Tensor& initial = kept ? *kept->read->input(0) : e.input(i);
  if (!kept && !initial.is_constant()) return e.fail("a state that other operations read or write");
  if (!initial.is_constant() || !is_stored_zero(initial))
    return e.fail("a state that does not start from zero");
  const int32_t index = e.graph().add_tensor(initial.name(), initial.type());
  e.graph().record().tensors[static_cast<size_t>(index)].is_variable = true;
  return index;
}

// All operands up to `count`, -1 where there is none; those in `states` as variables.
Result<std::vector<int32_t>> recurrent_inputs(OpEmitter& e, size_t count,
                                              std::initializer_list<size_t> states) {
  std::vector<int32_t> indices;
  for (size_t i = 0; i < count; ++i) {
    const auto* at = std::find(states.begin(), states.end(), i);
    EC_TRY(const int32_t index, at != states.end()
                                    ? state(e, i, static_cast<size_t>(at - states.begin()))
                                    : Result<int32_t>(e.in(i)));
    indices.push_back(index);
  }
  return indices;
}

// Real values times stored ones.
bool is_hybrid(const OpEmitter& e, size_t weights) {
  return is_float(e.dtype()) && e.has(weights) && e.input(weights).type().quant;
}

// Parameters of values inside the cell, as tensors that nobody reads.
std::vector<int32_t> intermediates(OpEmitter& e, const LstmSequenceAttrs& attrs) {
  constexpr size_t kHidden = 4;  // before it the gates, in 16 bits
  std::vector<int32_t> indices;
  for (size_t i = 0; i < attrs.intermediate_scales.size(); ++i) {
    ec::TensorType type(i < kHidden ? DType::I16 : DType::I8, Shape{});
    if (attrs.intermediate_scales[i] > 0) {
      QuantParams quant;
      quant.scales = {attrs.intermediate_scales[i]};
      quant.zero_points = {static_cast<int32_t>(attrs.intermediate_zero_points[i])};
      type.quant = std::move(quant);
    }
    indices.push_back(e.graph().add_tensor(
        e.op().output()->name() + "_intermediate" + std::to_string(i), std::move(type)));
  }
  return indices;
}

Status emit_lstm_sequence(OpEmitter& e) {
  constexpr size_t kOperands = 24, kInputWeights = 2, kHiddenState = 18, kCellState = 19;
  const auto& attrs = e.attrs<LstmSequenceAttrs>();
  EC_TRY(const ActivationFunctionType activation,
         cell_activation(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  EC_TRY(std::vector<int32_t> inputs, recurrent_inputs(e, kOperands, {kHiddenState, kCellState}));
  const int32_t version = attrs.diagonal_recurrent           ? 4
                          : attrs.asymmetric_quantize_inputs ? 3
                          : is_hybrid(e, kInputWeights)      ? 2
                                                             : 1;
  e.add(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, std::move(inputs), {e.out()},
        options(BuiltinOptions::UnidirectionalSequenceLSTMOptions,
                CreateUnidirectionalSequenceLSTMOptions(
                    e.fbb(), activation, attrs.cell_clip, attrs.projection_clip, attrs.time_major,
                    attrs.asymmetric_quantize_inputs, attrs.diagonal_recurrent)),
        version);
  e.graph().record().operators.back().intermediates = intermediates(e, attrs);
  return {};
}

Status emit_rnn_sequence(OpEmitter& e) {
  constexpr size_t kOperands = 5, kInputWeights = 1, kHiddenState = 4;
  const auto& attrs = e.attrs<RnnSequenceAttrs>();
  EC_TRY(const ActivationFunctionType activation,
         cell_activation(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  EC_TRY(std::vector<int32_t> inputs, recurrent_inputs(e, kOperands, {kHiddenState}));
  const int32_t hybrid = attrs.asymmetric_quantize_inputs ? 3 : 2;
  e.add(Op::UNIDIRECTIONAL_SEQUENCE_RNN, std::move(inputs), {e.out()},
        options(BuiltinOptions::SequenceRNNOptions,
                CreateSequenceRNNOptions(e.fbb(), attrs.time_major, activation,
                                         attrs.asymmetric_quantize_inputs)),
        is_hybrid(e, kInputWeights) ? hybrid : 1);
  return {};
}

Status emit_svdf(OpEmitter& e) {
  constexpr size_t kOperands = 5, kFeatureWeights = 1, kState = 4;
  const auto& attrs = e.attrs<SvdfAttrs>();
  EC_TRY(const ActivationFunctionType activation,
         cell_activation(e, attrs.activation, attrs.act_alpha, attrs.act_beta));
  EC_TRY(std::vector<int32_t> inputs, recurrent_inputs(e, kOperands, {kState}));
  const int32_t hybrid = attrs.asymmetric_quantize_inputs ? 4 : 2;
  e.add(Op::SVDF, std::move(inputs), {e.out()},
        options(BuiltinOptions::SVDFOptions,
                CreateSVDFOptions(e.fbb(), static_cast<int32_t>(attrs.rank), activation,
                                  attrs.asymmetric_quantize_inputs)),
        is_hybrid(e, kFeatureWeights) ? hybrid : 1);
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::LstmSequence, emit_lstm_sequence},
    {OpKind::RnnSequence, emit_rnn_sequence},
    {OpKind::Svdf, emit_svdf},
};

}  // namespace

const std::span<const EmitRow> kEmitRecurrent = kRows;

}  // namespace ec::tflite
