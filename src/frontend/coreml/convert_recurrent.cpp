// LSTM, GRU and simple recurrent layers over sequences [time, batch, input].
#include "frontend/coreml/table.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

// Core ML's gates (lstm i,f,o,z; gru r,o,z; peepholes i,f,o) in the IR's order (lstm i,o,f,c; gru
// z,r,h; peepholes i,o,f).
const Ints kLstmGates = {0, 2, 1, 3}, kGruGates = {2, 0, 1}, kPeepholes = {0, 2, 1}, kOne = {0};

struct Layer {
  OpKind kind;
  const Ints& gates;
  int64_t hidden = 0;
  DType dtype = DType::F32;
};

// Rows of a parameter [gates * hidden, ...] in the IR's order, with a dimension for the direction.
Tensor* reordered(OpCall& c, Tensor* x, const Ints& order, const Layer& layer) {
  const auto gates = static_cast<int64_t>(order.size());
  if (c.size(x, 0) != gates * layer.hidden)
    return c.fail(Code::ShapeMismatch, "weights " + x->type().text() + " have not " +
                                           std::to_string(gates) + " gates of " +
                                           std::to_string(layer.hidden));
  x = c.cast(x, layer.dtype);
  if (gates > 1) {
    Tensors rows, parts = c.split(x, 0, gates);
    for (const int64_t gate : order) rows.push_back(parts[static_cast<size_t>(gate)]);
    x = c.concat(rows, 0);
  }
  return c.unsqueeze(x, {0});
}

// Both biases of the IR: that of the input and that of the recurrence.
Tensor* biases(OpCall& c, Tensor* input, Tensor* recurrent, const Layer& layer) {
  if (input == nullptr && recurrent == nullptr) return nullptr;
  Tensor* one = reordered(c, input != nullptr ? input : recurrent, layer.gates, layer);
  Tensor* zeros = c.times(one, 0.0);
  return c.concat({input != nullptr ? one : zeros,
                   recurrent == nullptr ? zeros
                   : input == nullptr   ? one
                                        : reordered(c, recurrent, layer.gates, layer)},
                  1);
}

std::string activation_name(OpCall& c, std::string_view parameter, std::string_view otherwise) {
  const std::string name = c.text(parameter, otherwise);
  if (name == "sigmoid") return "Sigmoid";
  if (name == "tanh") return "Tanh";
  if (name == "relu") return "Relu";
  if (name == "sigmoid_hard" || name == "hard_sigmoid") return "HardSigmoid";
  if (name == "linear") return "Affine";
  c.unsupported("the activation '" + printable(name, 40) + "' of a recurrent layer");
  return "Tanh";
}

// Affine is the identity with alpha 1 and beta 0; without parameters its alpha is not set.
void set_activations(RecurrentAttrs& attrs, const std::vector<std::string>& names,
                     size_t directions) {
  for (size_t d = 0; d < directions; ++d)
    for (const std::string& name : names) {
      attrs.activations.push_back(name);
      if (name == "Affine") attrs.activation_alpha.push_back(1.0f);
      if (name == "Affine") attrs.activation_beta.push_back(0.0f);
      if (name == "HardSigmoid") attrs.activation_alpha.push_back(0.2f);
      if (name == "HardSigmoid") attrs.activation_beta.push_back(0.5f);
    }
}

// [batch, directions * hidden] to [directions, batch, hidden]
Tensor* initial_state(OpCall& c, std::string_view parameter, int64_t directions,
                      const Layer& layer) {
  Tensor* h = c.cast(c.in(parameter), layer.dtype);
  if (directions == 1) return c.unsqueeze(h, {0});
  return c.transpose(c.reshape(h, {Size(h, 0), directions, layer.hidden}), {1, 0, 2});
}

// [directions, batch, hidden] to [batch, directions * hidden]
Tensor* final_state(OpCall& c, Tensor* h, int64_t directions, const Layer& layer) {
  if (directions == 1) return c.squeeze(h, {0});
  return c.reshape(c.transpose(h, {1, 0, 2}), {Size(h, 1), directions * layer.hidden});
}

// [time, directions, batch, hidden] to [time, batch, directions * hidden]; the last step alone
// unless the sequence is asked for.
Tensor* sequence(OpCall& c, Tensor* y, Tensor* last, int64_t directions, const Layer& layer) {
  if (!c.flag("output_sequence", false)) return c.unsqueeze(last, {0});
  if (directions == 1) return c.squeeze(y, {1});
  return c.reshape(c.transpose(y, {0, 2, 1, 3}),
                   {Size(y, 0), Size(y, 2), directions * layer.hidden});
}

Direction read_direction(OpCall& c) {
  const std::string text = c.text("direction", "forward");
  if (text == "reverse") return Direction::Reverse;
  if (text == "bidirectional") return Direction::Bidirectional;
  if (text != "forward") c.unsupported("the direction '" + printable(text, 40) + "'");
  return Direction::Forward;
}

Layer read_layer(OpCall& c, OpKind kind, const Ints& gates, const Tensor* x) {
  Tensor* weights = c.in("weight_hh");
  Layer layer{kind, gates, 0, x->dtype()};
  if (c.rank(weights) == 2) layer.hidden = c.size(weights, 1);
  if (c.ok() && (layer.hidden < 1 || layer.hidden > (1 << 20)))
    c.fail(Code::ShapeMismatch, "the recurrent weights are no matrix of gates");
  return layer;
}

Tensors lstm(OpCall& c) {
  Tensor* x = c.in("x");
  const Layer layer = read_layer(c, OpKind::Lstm, kLstmGates, x);
  RecurrentAttrs attrs;
  attrs.direction = read_direction(c);
  attrs.hidden_size = layer.hidden;
  const bool both = attrs.direction == Direction::Bidirectional;
  const int64_t directions = both ? 2 : 1;
  if (c.has("clip")) return {c.unsupported("a bound on the cell state of an LSTM")};
  set_activations(
      attrs,
      {activation_name(c, "recurrent_activation", "sigmoid"),
       activation_name(c, "cell_activation", "tanh"), activation_name(c, "activation", "tanh")},
      static_cast<size_t>(directions));
  if (!c.ok()) return {x};
  // What one direction has the other has as well: zeros where the file leaves it out.
  const auto joined = [&](std::string_view name, const Ints& order) -> Tensor* {
    const std::string back = std::string(name) + "_back";
    Tensor *one = c.maybe(name), *two = both ? c.maybe(back) : nullptr;
    if (one == nullptr && two == nullptr) return nullptr;
    Tensor* first = one != nullptr ? reordered(c, one, order, layer) : nullptr;
    Tensor* second = two != nullptr ? reordered(c, two, order, layer) : nullptr;
    if (!both) return first;
    if (first == nullptr) first = c.times(second, 0.0);
    if (second == nullptr) second = c.times(first, 0.0);
    return c.concat({first, second}, 0);
  };
  Tensor* bias = joined("bias", kLstmGates);
  if (bias != nullptr) bias = c.concat({bias, c.times(bias, 0.0)}, 1);
  Tensors inputs = {x,
                    joined("weight_ih", kLstmGates),
                    joined("weight_hh", kLstmGates),
                    bias,
                    nullptr,
                    initial_state(c, "initial_h", directions, layer),
                    initial_state(c, "initial_c", directions, layer)};
  if (Tensor* peephole = joined("peephole", kPeepholes)) inputs.push_back(peephole);
  const Tensors y = c.add_many(OpKind::Lstm, std::move(inputs), attrs, 3);
  Tensor* h = final_state(c, y[1], directions, layer);
  return {sequence(c, y[0], h, directions, layer), h, final_state(c, y[2], directions, layer)};
}

// One direction, and no cell state.
Tensors simple(OpCall& c, const Layer& layer, RecurrentAttrs attrs, Tensor* bias) {
  Tensor* x = c.in("x");
  attrs.direction = read_direction(c);
  attrs.hidden_size = layer.hidden;
  if (attrs.direction == Direction::Bidirectional)
    return {c.unsupported("both directions in one layer")};
  Tensors inputs = {x,
                    reordered(c, c.in("weight_ih"), layer.gates, layer),
                    reordered(c, c.in("weight_hh"), layer.gates, layer),
                    bias,
                    nullptr,
                    initial_state(c, "initial_h", 1, layer)};
  const Tensors y = c.add_many(layer.kind, std::move(inputs), attrs, 2);
  Tensor* h = final_state(c, y[1], 1, layer);
  return {sequence(c, y[0], h, 1, layer), h};
}

// The reset gate acts on the state in front of the product, behind it with reset_after.
Tensors gru(OpCall& c) {
  const Layer layer = read_layer(c, OpKind::Gru, kGruGates, c.in("x"));
  RecurrentAttrs attrs;
  attrs.linear_before_reset = c.flag("reset_after", false);
  set_activations(attrs,
                  {activation_name(c, "recurrent_activation", "sigmoid"),
                   activation_name(c, "activation", "tanh")},
                  1);
  if (!c.ok()) return {c.in("x")};
  return simple(c, layer, attrs, biases(c, c.maybe("input_bias"), c.maybe("bias"), layer));
}

Tensors rnn(OpCall& c) {
  const Layer layer = read_layer(c, OpKind::Rnn, kOne, c.in("x"));
  RecurrentAttrs attrs;
  set_activations(attrs, {activation_name(c, "activation", "tanh")}, 1);
  if (!c.ok()) return {c.in("x")};
  return simple(c, layer, attrs, biases(c, nullptr, c.maybe("bias"), layer));
}

constexpr OpRow kRows[] = {
    {"lstm", kIos15,
     "x initial_h initial_c weight_ih weight_hh bias? peephole? weight_ih_back? weight_hh_back? "
     "bias_back? peephole_back? direction? output_sequence? recurrent_activation? "
     "cell_activation? activation? clip?",
     lstm},
    {"gru", kIos15,
     "x initial_h weight_ih weight_hh bias? direction? output_sequence? recurrent_activation? "
     "activation? reset_after? input_bias?",
     gru},
    {"rnn", kIos15, "x initial_h weight_ih weight_hh bias? direction? output_sequence? activation?",
     rnn},
};

}  // namespace

const std::span<const OpRow> kRecurrentRows = kRows;

}  // namespace ec::mil
