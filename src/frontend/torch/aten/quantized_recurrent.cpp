// LSTM and GRU with weights of 8 bits and activations quantised at run time. The input's products
// are quantised for the whole sequence at once, the state's at each step, so the sequence is
// unrolled.
#include "frontend/torch/aten/dynamic_quantization.h"
#include "frontend/torch/aten/recurrent_steps.h"

namespace ec::torch {
namespace {

using Step = Result<States> (*)(Call&, ec::Tensor*, ec::Tensor*, const States&);

Result<std::vector<TorchValue>> sequence(Call& c, const Tensors& initial, Step step) {
  const std::vector<TorchValue> params = c.items("params");
  const int64_t layers = c.integer("num_layers");
  const size_t directions = c.boolean("bidirectional") ? 2 : 1;
  if (layers < 1 || params.size() != directions * static_cast<size_t>(layers))
    return c.fail(Code::BadArity, "parameters of layers are missing");
  std::vector<StepCell> cells;
  for (const TorchValue& param : params) {
    const auto* packed = param.get_if<TorchValue::Cell>();
    if (packed == nullptr || *packed == nullptr)
      return c.fail(Code::TypeMismatch, "an item of 'params' holds no packed weights");
    const PackedCell& weights = **packed;  // params keeps it
    const auto times = [&c, &weights](const auto& matrix) {
      return [&c, &weights, &matrix](ec::Tensor* x) -> Result<ec::Tensor*> {
        EC_TRY(x, nearest_steps(c, x, weights.reduce_range));
        return multiply_packed(c, x, matrix);
      };
    };
    cells.push_back({times(weights.input), times(weights.hidden),
                     [&c, step](ec::Tensor* input, ec::Tensor* hidden, const States& state) {
                       return step(c, input, hidden, state);
                     }});
  }
  return unrolled_sequence(c, initial, cells);
}

Result<std::vector<TorchValue>> lstm(Call& c) {
  const Tensors initial = c.tensors("hx");
  if (initial.size() != 2) return c.fail(Code::BadArity, "two states are needed");
  return sequence(c, initial, lstm_step);
}

Result<std::vector<TorchValue>> gru(Call& c) { return sequence(c, {c.tensor("hx")}, gru_step); }

#define EC_SEQUENCE                                                                              \
  "Any params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, " \
  "bool batch_first"

constexpr OperatorRow kRows[] = {
    {"aten::quantized_lstm.input(Tensor input, Tensor[] hx, " EC_SEQUENCE
     ", *, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)",
     lstm, true},
    {"aten::quantized_gru.input(Tensor input, Tensor hx, " EC_SEQUENCE ") -> (Tensor, Tensor)", gru,
     true},
};

}  // namespace

const std::span<const OperatorRow> kQuantizedRecurrentRows = kRows;

}  // namespace ec::torch
