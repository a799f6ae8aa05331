#include "frontend/keras/cell.h"

#include <algorithm>
#include <numeric>

#include "frontend/keras/activation.h"
#include "frontend/keras/convolution.h"
#include "frontend/keras/importer.h"

namespace ec::keras {
namespace {

constexpr int64_t kMaxSteps = 4096;  // of a sequence that is written out step by step

bool flag(const Value& config, std::string_view key, bool otherwise) {
  return config[key].as_bool(otherwise);
}

// --- one operation for the whole sequence -------------------------------------------------------

// Activations that the IR's recurrent operations have, with their parameters.
struct FusedActivation {
  std::string name;
  std::vector<float> alpha, beta;
};
std::optional<FusedActivation> fused_activation(const LayerCall& c, const Value& spec) {
  const std::string name = activation_name(spec);
  for (const auto& [keras, own] : {std::pair{"tanh", "Tanh"},
                                   {"sigmoid", "Sigmoid"},
                                   {"relu", "Relu"},
                                   {"softsign", "Softsign"},
                                   {"softplus", "Softplus"}})
    if (name == keras) return FusedActivation{own, {}, {}};
  if (name == "linear") return FusedActivation{"Affine", {1}, {0}};
  if (name == "elu") return FusedActivation{"Elu", {1}, {}};
  if (name == "leaky_relu") return FusedActivation{"LeakyRelu", {0.2f}, {}};
  if (name == "hard_sigmoid")
    return FusedActivation{"HardSigmoid", {c.keras_version() == 2 ? 0.2f : 1.0f / 6.0f}, {0.5f}};
  return std::nullopt;
}

std::optional<RecurrentAttrs> fused_attributes(const LayerCall& c, const Cell& cell) {
  const auto act = fused_activation(c, cell.config["activation"]);
  const auto gate = cell.kind == Cell::Kind::Simple
                        ? act
                        : fused_activation(c, cell.config["recurrent_activation"]);
  if (!act || !gate) return std::nullopt;
  RecurrentAttrs attrs;
  attrs.hidden_size = cell.units;
  std::vector<FusedActivation> all;
  if (cell.kind == Cell::Kind::Lstm) all = {*gate, *act, *act};
  if (cell.kind == Cell::Kind::Gru) all = {*gate, *act};
  if (cell.kind == Cell::Kind::Simple) all = {*act};
  // The usual ones go without saying: fast kernels have them.
  const bool usual =
      act->name == "Tanh" && (cell.kind == Cell::Kind::Simple || gate->name == "Sigmoid");
  for (const FusedActivation& a : usual ? std::vector<FusedActivation>{} : all) {
    attrs.activations.push_back(a.name);
    attrs.activation_alpha.insert(attrs.activation_alpha.end(), a.alpha.begin(), a.alpha.end());
    attrs.activation_beta.insert(attrs.activation_beta.end(), a.beta.begin(), a.beta.end());
  }
  // Files that do not say so are older than the option.
  attrs.linear_before_reset = cell.kind == Cell::Kind::Gru &&
                              flag(cell.config, "reset_after", cell.recurrent_bias != nullptr);
  return attrs;
}

// Gates i, f, c, o of Keras as the IR's i, o, f, c; the others agree.
Ints gate_order(const Cell& cell) {
  if (cell.kind == Cell::Kind::Lstm) return {0, 3, 1, 2};
  if (cell.kind == Cell::Kind::Gru) return {0, 1, 2};
  return {0};
}

// [in, gates * units] to [1, gates * units, in].
Tensor* fused_matrix(LayerCall& c, const Cell& cell, Tensor* matrix) {
  auto& known = c.importer().derived()[{matrix, "recurrent"}];
  if (known != nullptr) return known;
  const Ints order = gate_order(cell);
  const auto gates = static_cast<int64_t>(order.size());
  const int64_t in = c.size(matrix, 0);
  Tensor* y = c.reshape(matrix, {in, gates, cell.units});
  if (cell.kind == Cell::Kind::Lstm) y = c.gather(y, c.int_list(order), 1);
  y = c.reshape(c.transpose(y, {1, 2, 0}), {1, gates * cell.units, in});
  if (c.ok()) c.importer().derived()[{matrix, "recurrent"}] = y;
  return y;
}

// [gates * units] in the IR's order; zeros for none.
Tensor* fused_bias(LayerCall& c, const Cell& cell, Tensor* bias) {
  const Ints order = gate_order(cell);
  const int64_t count = static_cast<int64_t>(order.size()) * cell.units;
  if (bias == nullptr)
    return c.floats(Shape{Dim(count)}, std::vector<float>(static_cast<size_t>(count), 0));
  Tensor* y = bias;
  if (cell.kind == Cell::Kind::Lstm) {
    y = c.reshape(y, {static_cast<int64_t>(order.size()), cell.units});
    y = c.gather(y, c.int_list(order), 0);
  }
  return c.reshape(y, {count});
}

Sequence run_fused(LayerCall& c, const Cell& cell, Tensor* x, const Tensors& initial,
                   RecurrentAttrs attrs, const SequenceOptions& options) {
  attrs.direction = options.backwards ? Direction::Reverse : Direction::Forward;
  Tensor* bias = nullptr;
  if (cell.bias != nullptr)
    bias = c.reshape(
        c.concat({fused_bias(c, cell, cell.bias), fused_bias(c, cell, cell.recurrent_bias)}, 0),
        {1, -1});
  // Time in front, as the fast kernels want it.
  Tensors operands = {c.transpose(x, {1, 0, 2}), fused_matrix(c, cell, cell.kernel),
                      fused_matrix(c, cell, cell.recurrent), bias, nullptr};
  for (Tensor* state : initial) operands.push_back(c.unsqueeze(state, {0}));
  while (operands.back() == nullptr) operands.pop_back();
  const OpKind kind = cell.kind == Cell::Kind::Lstm  ? OpKind::Lstm
                      : cell.kind == Cell::Kind::Gru ? OpKind::Gru
                                                     : OpKind::Rnn;
  const Tensors results = c.add_many(kind, std::move(operands), attrs, 1 + cell.num_states());
  Sequence sequence;
  for (size_t i = 1; i < results.size(); ++i) sequence.states.push_back(c.squeeze(results[i], {0}));
  sequence.last = sequence.states.front();
  if (options.want_outputs) {
    sequence.outputs = c.transpose(c.squeeze(results[0], {1}), {1, 0, 2});
    // The IR gives outputs at their place in time, Keras in the order of the steps.
    if (options.backwards) sequence.outputs = c.reverse(sequence.outputs, 1);
  }
  return sequence;
}

// --- step by step -------------------------------------------------------------------------------

Tensor* gate(LayerCall& c, const Cell& cell, Tensor* x) {
  return activation(c, cell.config["recurrent_activation"], x);
}
Tensor* act(LayerCall& c, const Cell& cell, Tensor* x) {
  return activation(c, cell.config["activation"], x);
}

bool channels_first(const Cell& cell) { return cell.config["data_format"].is("channels_first"); }

// The part of a step that depends on the input alone.
Tensor* project(LayerCall& c, const Cell& cell, Tensor* x) {
  if (cell.kind == Cell::Kind::ConvLstm) {
    ConvAttrs attrs;
    attrs.layout = channels_first(cell) ? Layout::ChannelsFirst : Layout::ChannelsLast;
    attrs.strides = c.ints_of(cell.config["strides"], "strides", cell.spatial);
    attrs.dilations = c.ints_of(cell.config["dilation_rate"], "dilation_rate", cell.spatial);
    for (int64_t n : attrs.strides)
      if (n < 1 || n > (1 << 20)) c.fail(Code::BadAttribute, "a stride is out of range");
    for (int64_t n : attrs.dilations)
      if (n < 1 || n > (1 << 20)) c.fail(Code::BadAttribute, "a dilation is out of range");
    const std::string padding =
        cell.config["padding"].is_text() ? cell.config["padding"].as_text() : "valid";
    return convolve(c, x, cell.kernel, cell.bias, attrs, padding);
  }
  Tensor* y = c.matmul(x, cell.kernel);
  return cell.bias == nullptr ? y : c.plus(y, cell.bias);
}

Tensors lstm_step(LayerCall& c, const Cell& cell, Tensor* sum, const Tensors& states,
                  int64_t axis) {
  const Tensors z = c.split(sum, axis, 4);
  if (!c.ok()) return states;
  Tensor* i = gate(c, cell, z[0]);
  Tensor* f = gate(c, cell, z[1]);
  Tensor* carry = c.plus(c.times(f, states[1]), c.times(i, act(c, cell, z[2])));
  Tensor* o = gate(c, cell, z[3]);
  return {c.times(o, act(c, cell, carry)), carry};
}

Tensors step(LayerCall& c, const Cell& cell, Tensor* projected, const Tensors& states) {
  Tensor* h = states.front();
  switch (cell.kind) {
    case Cell::Kind::Simple:
      return {act(c, cell, c.plus(projected, c.matmul(h, cell.recurrent)))};
    case Cell::Kind::Lstm:
      return lstm_step(c, cell, c.plus(projected, c.matmul(h, cell.recurrent)), states,
                       c.rank(projected) - 1);
    case Cell::Kind::ConvLstm: {
      ConvAttrs attrs;
      attrs.layout = channels_first(cell) ? Layout::ChannelsFirst : Layout::ChannelsLast;
      attrs.strides = attrs.dilations = Ints(cell.spatial, 1);
      Tensor* own = convolve(c, h, cell.recurrent, nullptr, attrs, "same");
      return lstm_step(c, cell, c.plus(projected, own), states,
                       channels_first(cell) ? 1 : c.rank(projected) - 1);
    }
    case Cell::Kind::Gru:
      break;
  }
  const Tensors p = c.split(projected, 1, 3);
  Tensor* candidate = nullptr;
  Tensor* z = nullptr;
  if (flag(cell.config, "reset_after", cell.recurrent_bias != nullptr)) {
    Tensor* own = c.matmul(h, cell.recurrent);
    if (cell.recurrent_bias != nullptr) own = c.plus(own, cell.recurrent_bias);
    const Tensors q = c.split(own, 1, 3);
    if (!c.ok()) return states;
    z = gate(c, cell, c.plus(p[0], q[0]));
    Tensor* r = gate(c, cell, c.plus(p[1], q[1]));
    candidate = act(c, cell, c.plus(p[2], c.times(r, q[2])));
  } else {
    const Tensors matrices = c.split(cell.recurrent, 1, 3);
    if (!c.ok()) return states;
    z = gate(c, cell, c.plus(p[0], c.matmul(h, matrices[0])));
    Tensor* r = gate(c, cell, c.plus(p[1], c.matmul(h, matrices[1])));
    candidate = act(c, cell, c.plus(p[2], c.matmul(c.times(r, h), matrices[2])));
  }
  // z h + (1 - z) candidate
  return {c.plus(c.times(z, h), c.times(c.minus(c.like(z, 1), z), candidate))};
}

// A mask of [batch] against a tensor [batch, ...].
Tensor* mask_like(LayerCall& c, Tensor* mask, Tensor* x) {
  Ints axes;
  for (int64_t i = c.rank(mask); i < c.rank(x); ++i) axes.push_back(i);
  return c.unsqueeze(mask, axes);
}

Sequence run_steps(LayerCall& c, const Cell& cell, Tensor* x, Tensors states, Tensor* mask,
                   const SequenceOptions& options) {
  const int64_t time = c.size(x, 1);
  if (!c.ok()) return {nullptr, x, states};
  if (time < 1 || time > kMaxSteps) {
    c.fail(Code::UnsupportedOpForm,
           "a sequence of " + std::to_string(time) + " steps in this form");
    return {nullptr, x, states};
  }
  if (options.backwards) {
    x = c.reverse(x, 1);
    if (mask != nullptr) mask = c.reverse(mask, 1);
  }
  const bool dense = cell.kind != Cell::Kind::ConvLstm;
  const Tensors inputs = c.split(dense ? project(c, cell, x) : x, 1, time);
  Tensors masks;
  if (mask != nullptr) masks = c.split(mask, 1, time);
  Tensors outputs;
  Tensor* last = nullptr;
  for (size_t t = 0; t < static_cast<size_t>(time) && c.ok(); ++t) {
    Tensor* now = c.squeeze(inputs[t], {1});
    if (!dense) now = project(c, cell, now);
    if (states.empty()) {
      Tensor* zero = dense ? c.fill({Size(now, 0), Size(cell.units)}, c.like(now, 0)) : nullptr;
      if (!dense) {
        Sizes shape = c.sizes(now);
        c.set(shape, channels_first(cell) ? 1 : std::ssize(shape) - 1, cell.units);
        zero = c.fill(shape, c.like(now, 0));
      }
      states.assign(cell.num_states(), zero);
    }
    Tensors next = step(c, cell, now, states);
    if (!c.ok()) break;
    Tensor* output = next.front();
    if (mask != nullptr) {
      Tensor* kept = c.squeeze(masks[t], {1});
      for (size_t i = 0; i < next.size(); ++i)
        next[i] = c.where(mask_like(c, kept, next[i]), next[i], states[i]);
      Tensor* otherwise = options.zero_masked || last == nullptr ? c.times(output, 0.0) : last;
      output = c.where(mask_like(c, kept, output), output, otherwise);
    }
    last = output;
    states = std::move(next);
    if (options.want_outputs) outputs.push_back(c.unsqueeze(output, {1}));
  }
  Sequence sequence;
  if (options.want_outputs && c.ok()) sequence.outputs = c.concat(std::move(outputs), 1);
  sequence.last = last == nullptr ? x : last;
  sequence.states = std::move(states);
  return sequence;
}

}  // namespace

bool is_cell_class(std::string_view name) {
  return name == "LSTMCell" || name == "GRUCell" || name == "SimpleRNNCell";
}

Cell read_cell(LayerCall& c, const LayerConfig& layer, const Weights& weights) {
  Cell cell;
  const std::string& name = layer.class_name;
  cell.config = layer.config;
  if (name.find("ConvLSTM") != std::string::npos) {
    cell.kind = Cell::Kind::ConvLstm;
    cell.spatial = name.find("1D") != std::string::npos   ? 1
                   : name.find("3D") != std::string::npos ? 3
                                                          : 2;
  } else if (name.find("GRU") != std::string::npos) {
    cell.kind = Cell::Kind::Gru;
  } else if (name.find("SimpleRNN") != std::string::npos) {
    cell.kind = Cell::Kind::Simple;
  }
  const Value& units = cell.config[cell.kind == Cell::Kind::ConvLstm ? "filters" : "units"];
  cell.units = units.as_int(0);
  if (cell.units < 1 || cell.units > (1 << 24)) {
    c.fail(Code::BadAttribute, "the number of units is missing or out of range");
    cell.units = 1;
  }
  // CuDNN's layers are those with its activations.
  if (name.starts_with("CuDNN")) {
    Value config = cell.config;
    config.set("activation", Value::text("tanh"));
    config.set("recurrent_activation", Value::text("sigmoid"));
    config.set("reset_after", Value::boolean(true));
    cell.config = config;
  }
  const bool biased = flag(cell.config, "use_bias", true);
  Names names = {"kernel", "recurrent_kernel"};
  if (biased) names.emplace_back("bias");
  c.variables(weights, names);
  cell.kernel = c.weight("kernel");
  cell.recurrent = c.weight("recurrent_kernel");
  const int64_t gates = cell.kind == Cell::Kind::Gru ? 3 : cell.kind == Cell::Kind::Simple ? 1 : 4;
  const int64_t rank = static_cast<int64_t>(cell.spatial) + 2;
  for (Tensor* w : {cell.kernel, cell.recurrent})
    if (c.ok() && (c.rank(w) != rank || c.size(w, rank - 1) != gates * cell.units))
      c.fail(Code::ShapeMismatch, "weights " + w->type().text() + " do not fit " +
                                      std::to_string(cell.units) + " units");
  if (c.ok() && c.size(cell.recurrent, rank - 2) != cell.units)
    c.fail(Code::ShapeMismatch, "weights " + cell.recurrent->type().text() + " do not fit " +
                                    std::to_string(cell.units) + " units");
  if (!biased) return cell;
  cell.bias = c.weight("bias");
  if (cell.kind == Cell::Kind::Gru && c.ok() && c.rank(cell.bias) == 2) {
    const Tensors rows = c.split(cell.bias, 0, 2);
    cell.bias = c.reshape(rows[0], {-1});
    cell.recurrent_bias = c.reshape(rows.back(), {-1});
  }
  if (c.ok() && (c.rank(cell.bias) != 1 || c.size(cell.bias, 0) != gates * cell.units))
    c.fail(Code::ShapeMismatch, "a bias " + cell.bias->type().text() + " does not fit " +
                                    std::to_string(cell.units) + " units");
  return cell;
}

Tensors zero_states(LayerCall& c, const Cell& cell, Tensor* x) {
  return Tensors(cell.num_states(), c.fill({Size(x, 0), Size(cell.units)}, c.like(x, 0)));
}

Tensors cell_step(LayerCall& c, const Cell& cell, Tensor* x, const Tensors& states) {
  if (states.size() != cell.num_states()) {
    c.fail(Code::BadArity, std::to_string(cell.num_states()) + " states are needed");
    return states;
  }
  return step(c, cell, project(c, cell, x), states);
}

Sequence run_cell(LayerCall& c, const Cell& cell, Tensor* x, Tensors initial, Tensor* mask,
                  const SequenceOptions& options) {
  if (!initial.empty() && initial.size() != cell.num_states()) {
    c.fail(Code::BadArity, std::to_string(cell.num_states()) + " initial states are needed, not " +
                               std::to_string(initial.size()));
    return {x, x, initial};
  }
  if (mask == nullptr && cell.kind != Cell::Kind::ConvLstm && c.rank(x) == 3)
    if (const auto attrs = fused_attributes(c, cell))
      return run_fused(c, cell, x, initial, *attrs, options);
  return run_steps(c, cell, x, std::move(initial), mask, options);
}

}  // namespace ec::keras
