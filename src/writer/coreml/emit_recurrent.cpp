// LSTM. Programs want sequences first, gates in the order input, forget, output, cell, and the
// states of both directions side by side.
#include <algorithm>

#include "support/small_float.h"
#include "writer/coreml/emitter.h"
#include "writer/coreml/forms.h"
#include "writer/coreml/sizes.h"

namespace ec::mil {
namespace {

struct Lstm {
  int64_t directions = 1, hidden = 0, length = 0, batch = 0, features = 0;
};

// Elements of one direction with the gates in the other order; `rows` of `width` elements a gate.
std::vector<float> regrouped(std::span<const float> all, int64_t direction, int64_t rows,
                             int64_t width) {
  // From input, output, forget, cell.
  constexpr int64_t kOrder[] = {0, 2, 1, 3};
  const int64_t gate = rows * width;
  std::vector<float> result;
  for (const int64_t from : kOrder) {
    const auto begin = all.begin() + (direction * 4 + from) * gate;
    result.insert(result.end(), begin, begin + gate);
  }
  return result;
}

std::string floats(OpEmitter& e, std::vector<int64_t> dims, const std::vector<float>& values) {
  if (e.element() == DataType::Float32)
    return e.constant(ValueType::tensor(DataType::Float32, std::move(dims)),
                      Blob::copy_of(std::span<const float>(values)));
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(float_to_half(value));
  return e.constant(ValueType::tensor(DataType::Float16, std::move(dims)),
                    Blob::copy_of(std::span<const uint16_t>(halves)));
}

Result<Lstm> sizes_of(OpEmitter& e) {
  const auto& attrs = e.attrs<RecurrentAttrs>();
  if (!has_coreml_lstm(e.op()))
    return e.fail("a form that `lstm` does not have", std::string(kPipelineHint));
  if (e.element() == DataType::Float16)
    EC_CHECK_OK(e.need(kCoremlIos17, "an lstm in half precision"));
  const std::vector<int64_t> x = e.sizes(e.input(0));
  Lstm lstm;
  lstm.directions = attrs.direction == Direction::Bidirectional ? 2 : 1;
  lstm.hidden = e.sizes(e.input(2))[2];
  lstm.length = x[0];
  lstm.batch = x[1];
  lstm.features = x[2];
  return lstm;
}

void add_weights(OpEmitter& e, const Lstm& lstm, std::vector<Arg>& args) {
  const std::vector<float> w = float_values(e.input(1)), r = float_values(e.input(2));
  const std::vector<float> b = e.has(3) ? float_values(e.input(3)) : std::vector<float>();
  constexpr std::string_view kNames[2][3] = {{"weight_ih", "weight_hh", "bias"},
                                             {"weight_ih_back", "weight_hh_back", "bias_back"}};
  const int64_t gates = 4 * lstm.hidden;
  for (int64_t d = 0; d < lstm.directions; ++d) {
    args.emplace_back(kNames[d][0], floats(e, {gates, lstm.features},
                                           regrouped(w, d, lstm.hidden, lstm.features)));
    args.emplace_back(kNames[d][1],
                      floats(e, {gates, lstm.hidden}, regrouped(r, d, lstm.hidden, lstm.hidden)));
    if (b.empty()) continue;
    // One bias of the inputs, one of the states; they are added.
    const std::vector<float> of_inputs = regrouped(b, 2 * d, lstm.hidden, 1);
    std::vector<float> sum = regrouped(b, 2 * d + 1, lstm.hidden, 1);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += of_inputs[i];
    args.emplace_back(kNames[d][2], floats(e, {gates}, sum));
  }
}

// A state [directions, batch, hidden] as [batch, directions * hidden].
std::string initial_state(OpEmitter& e, const Lstm& lstm, size_t i) {
  const int64_t width = lstm.directions * lstm.hidden;
  // Open batches, and those whose zeros would be stored for nothing.
  constexpr int64_t kMostStored = int64_t{1} << 16;
  const bool is_large = lstm.batch > kMostStored / std::max<int64_t>(width, 1);
  if (!e.has(i) && lstm.batch != coreml::kUnknownSize && is_large)
    return e.step("fill", {{"shape", e.ints({lstm.batch, width})}, {"value", e.real(0)}},
                  ValueType::tensor(e.element(), {lstm.batch, width}));
  if (!e.has(i) && lstm.batch == coreml::kUnknownSize) {
    SizeList sizes(e);
    sizes.add_input(0, 1);
    sizes.add(width);
    return e.step("fill", {{"shape", std::move(sizes).take()}, {"value", e.real(0)}},
                  ValueType::tensor(e.element(), {lstm.batch, width}));
  }
  if (!e.has(i))
    return floats(e, {lstm.batch, width},
                  std::vector<float>(static_cast<size_t>(lstm.batch * width), 0));
  if (lstm.directions == 1)
    return e.step("squeeze", {{"x", e.in(i)}, {"axes", e.ints({0})}},
                  ValueType::tensor(e.element(), {lstm.batch, width}));
  const std::string moved =
      e.step("transpose", {{"x", e.in(i)}, {"perm", e.ints({1, 0, 2})}},
             ValueType::tensor(e.element(), {lstm.batch, lstm.directions, lstm.hidden}));
  return e.step("reshape", {{"x", moved}, {"shape", e.ints({lstm.batch, width})}},
                ValueType::tensor(e.element(), {lstm.batch, width}));
}

// The results [..., directions * hidden] with the directions in front of the batch.
void emit_result(OpEmitter& e, const Lstm& lstm, size_t i, const std::string& value) {
  const bool sequence = i == 0;
  const int64_t axis = sequence ? 1 : 0;
  if (lstm.directions == 1)
    return e.emit_result(i, "expand_dims", {{"x", value}, {"axes", e.ints({axis})}});
  std::vector<int64_t> split{lstm.batch, lstm.directions, lstm.hidden}, perm{1, 0, 2};
  if (sequence) {
    split.insert(split.begin(), lstm.length);
    perm = {0, 2, 1, 3};
  }
  SizeList sizes(e);
  if (std::ranges::count(split, coreml::kUnknownSize) > 1) {
    sizes.add_size(value, 3, 0);
    sizes.add_size(value, 3, 1);
    sizes.add(lstm.directions);
    sizes.add(lstm.hidden);
  }
  const std::string apart =
      reshaped(e, value, ValueType::tensor(e.element(), split), std::move(sizes));
  e.emit_result(i, "transpose", {{"x", apart}, {"perm", e.ints(perm)}});
}

Status emit_lstm(OpEmitter& e) {
  EC_TRY(const Lstm lstm, sizes_of(e));
  constexpr std::string_view kDirections[] = {"forward", "reverse", "bidirectional"};
  std::vector<Arg> args{
      {"x", e.in(0)},
      {"initial_h", initial_state(e, lstm, 5)},
      {"initial_c", initial_state(e, lstm, 6)},
      {"direction", e.text(kDirections[static_cast<size_t>(e.attrs<RecurrentAttrs>().direction)])},
      {"output_sequence", e.flag(true)},
      {"recurrent_activation", e.text("sigmoid")},
      {"cell_activation", e.text("tanh")},
      {"activation", e.text("tanh")}};
  add_weights(e, lstm, args);
  const int64_t width = lstm.directions * lstm.hidden;
  const ValueType state = ValueType::tensor(e.element(), {lstm.batch, width});
  const std::vector<std::string> results =
      e.steps("lstm", std::move(args),
              {ValueType::tensor(e.element(), {lstm.length, lstm.batch, width}), state, state});
  for (size_t i = 0; i < e.op().outputs().size(); ++i)
    if (!e.block().graph().is_unused(e.op().output(i))) emit_result(e, lstm, i, results[i]);
  return {};
}

constexpr EmitRow kRows[] = {{OpKind::Lstm, emit_lstm}};

}  // namespace

const std::span<const EmitRow> kEmitRecurrent = kRows;

}  // namespace ec::mil

namespace ec {

bool has_coreml_lstm(const Operation& op) {
  const auto& attrs = op.attrs_as<RecurrentAttrs>();
  const bool usual = attrs.activations.empty() && attrs.clip == 0 && !attrs.input_forget &&
                     !attrs.batch_first && !attrs.dynamic_quantize_inputs;
  enum : size_t { kWeights = 1, kBias = 3, kLengths = 4, kPeepholes = 7 };
  if (!usual || op.input(kLengths) != nullptr || op.input(kPeepholes) != nullptr) return false;
  // The length and the batch may be open.
  const auto& x = op.input(0)->shape();
  if (!x || x->rank() != 3 || !(*x)[2].is_static()) return false;
  for (size_t i = kWeights; i <= kBias; ++i)
    if (op.input(i) != nullptr && !op.input(i)->is_constant()) return false;
  return true;
}

}  // namespace ec
