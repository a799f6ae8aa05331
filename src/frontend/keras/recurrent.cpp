// Recurrent layers and the wrappers around them.
#include <algorithm>

#include "frontend/keras/cell.h"
#include "frontend/keras/importer.h"
#include "frontend/keras/table.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

// Initial states: the second argument, or in Keras 2 what follows the sequence in a list.
Tensors initial_states(LayerCall& c) {
  Tensors states;
  const Value& given = c.arg(1, "initial_state");
  if (!given.is_none()) {
    collect_tensors(given, states);
    return states;
  }
  states = c.inputs();
  states.erase(states.begin());
  return states;
}

SequenceOptions options_of(const LayerCall& c) {
  SequenceOptions options;
  options.backwards = c.flag("go_backwards", false);
  options.want_outputs = c.flag("return_sequences", false);
  options.zero_masked =
      c.flag("zero_output_for_mask", false) || c.kwargs()["__zero_masked__"].as_bool(false);
  return options;
}

Value results(LayerCall& c, const Sequence& sequence, Tensor* mask) {
  if (!c.ok()) return Value::failed();
  const bool all = c.flag("return_sequences", false);
  Value first = Value::tensor(all ? sequence.outputs : sequence.last, all ? mask : nullptr);
  if (!c.flag("return_state", false)) return first;
  std::vector<Value> values = {first};
  for (Tensor* state : sequence.states) values.emplace_back(state);
  return Value::list(std::move(values));
}

// Files of Keras 2 may have time in front.
Tensor* batch_first(LayerCall& c, Tensor* x) {
  if (!c.flag("time_major", false)) return x;
  c.unsupported("time_major=True");
  return x;
}

// The state of a stateful layer stays from run to run.
Sequence run_stateful(LayerCall& c, const Cell& cell, Tensor* x, Tensors initial, Tensor* mask,
                      const SequenceOptions& options) {
  if (!c.flag("stateful", false) || !initial.empty())
    return run_cell(c, cell, x, std::move(initial), mask, options);
  const std::string base(c.location().name());
  const int64_t batch = c.size(x, 0);
  if (!c.ok()) return {x, x, {}};
  if (cell.kind == Cell::Kind::ConvLstm) {
    c.unsupported("a stateful ConvLSTM");
    return {x, x, {}};
  }
  StateBuilder& states = c.importer().states();
  for (size_t i = 0; i < cell.num_states(); ++i) {
    const std::string key = base + (i == 0 ? "/h" : "/c");
    if (!states.contains(key)) {
      const int64_t count = c.product(batch, cell.units);
      if (!c.afford(count)) return {x, x, {}};
      const std::vector<float> zeros(static_cast<size_t>(count), 0.0f);
      auto declared = states.declare(key, key, c.floats(Shape{Dim(batch), Dim(cell.units)}, zeros),
                                     c.location());
      if (!declared.ok()) {
        c.remember(std::move(declared).error());
        return {x, x, {}};
      }
    }
    initial.push_back(states.value(key));
  }
  Sequence sequence = run_cell(c, cell, x, std::move(initial), mask, options);
  if (c.ok())
    for (size_t i = 0; i < cell.num_states(); ++i)
      states.assign(base + (i == 0 ? "/h" : "/c"), sequence.states[i]);
  return sequence;
}

Value recurrent_layer(LayerCall& c) {
  Tensor* x = batch_first(c, c.float_x());
  auto weights = c.weights().child("cell", "");
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  // CuDNN's layers have their weights themselves.
  const Cell cell = read_cell(c, c.layer(), weights->empty() ? c.weights() : *weights);
  if (!c.ok()) return Value::failed();
  Tensor* mask = c.mask();
  return results(c, run_stateful(c, cell, x, initial_states(c), mask, options_of(c)), mask);
}

// RNN(cell), RNN([cells]): one sequence after the other.
Value generic_rnn(LayerCall& c) {
  Tensor* x = batch_first(c, c.float_x());
  const LayerConfig outer = read_layer(c.config("cell"));
  auto weights = c.weights().child("cell", "");
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  std::vector<LayerConfig> cells;
  std::vector<Weights> own;
  if (outer.class_name == "StackedRNNCells") {
    for (const Value& entry : outer.config["cells"].items()) cells.push_back(read_layer(entry));
    auto all = weights->of_layers(cells, false, "cells");
    if (!all.ok()) return c.remember(std::move(all).error()), Value::failed();
    own = std::move(*all);
  } else {
    cells = {outer};
    own = {*weights};
  }
  if (c.flag("stateful", false)) return c.unsupported("a stateful RNN");
  Tensors initial = initial_states(c);
  Tensor* mask = c.mask();
  Sequence last;
  Tensors states;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!is_cell_class(cells[i].class_name))
      return c.unsupported("cells of class '" + printable(cells[i].class_name) + "'");
    const Cell cell = read_cell(c, cells[i], own[i]);
    SequenceOptions options = options_of(c);
    // Only the first sequence turns round, only the last may leave its outputs out.
    options.backwards = options.backwards && i == 0;
    options.want_outputs = options.want_outputs || i + 1 < cells.size();
    Tensors begin;
    if (!initial.empty()) {
      if (initial.size() < cell.num_states())
        return c.fail(Code::BadArity, "initial states are missing");
      begin.assign(initial.begin(),
                   initial.begin() + static_cast<std::ptrdiff_t>(cell.num_states()));
      initial.erase(initial.begin(),
                    initial.begin() + static_cast<std::ptrdiff_t>(cell.num_states()));
    }
    Tensor* own_mask = mask;
    if (mask != nullptr && c.flag("go_backwards", false) && i > 0) own_mask = c.reverse(mask, 1);
    if (!c.ok()) return Value::failed();
    last = run_cell(c, cell, x, begin, own_mask, options);
    if (!c.ok()) return Value::failed();
    states.insert(states.end(), last.states.begin(), last.states.end());
    if (i + 1 < cells.size()) x = last.outputs;
  }
  if (cells.empty()) return c.fail(Code::BadAttribute, "the layer has no cells");
  last.states = std::move(states);
  return results(c, last, mask);
}

// A cell called as a layer: (inputs, states) to (output, states).
Value cell_layer(LayerCall& c) {
  const Cell cell = read_cell(c, c.layer(), c.weights());
  Tensors states;
  collect_tensors(c.arg(1, "states"), states);
  Tensor* x = c.float_x();
  if (states.empty()) {
    states = c.inputs();
    states.erase(states.begin());
  }
  const Tensors next = cell_step(c, cell, x, states);
  if (!c.ok()) return Value::failed();
  std::vector<Value> list;
  for (Tensor* state : next) list.emplace_back(state);
  return Value::list({Value::tensor(next.front()), Value::list(std::move(list))});
}

// --- wrappers -----------------------------------------------------------------------------------

Value with(const Value& config, const std::string& key, Value value) {
  Value changed = Value::dict();
  for (size_t i = 0; i < config.keys().size(); ++i)
    if (config.keys()[i] != key) changed.set(config.keys()[i], config.items()[i]);
  changed.set(key, std::move(value));
  return changed;
}

// The weights of one direction: by the name of its layer, or a half of all.
Result<Weights> direction_weights(LayerCall& c, const std::string& side, size_t index,
                                  const std::string& name) {
  std::string plain = name;
  for (const char* prefix : {"forward_", "backward_"})
    if (plain.starts_with(prefix)) plain = plain.substr(std::string_view(prefix).size());
  for (const std::string& wanted : {name, side + "_" + plain}) {
    EC_TRY(Weights own, c.weights().child(side + "_layer", wanted));
    if (!own.empty()) return own;
  }
  return c.weights().part(index, 2);
}

Value bidirectional(LayerCall& c) {
  LayerConfig forward = read_layer(c.config("layer"));
  LayerConfig backward = forward;
  if (c.config("backward_layer").is_dict()) {
    backward = read_layer(c.config("backward_layer"));
  } else {
    backward.config = with(forward.config, "go_backwards",
                           Value::boolean(!forward.config["go_backwards"].as_bool(false)));
    backward.name = "backward_" +
                    (forward.name.starts_with("forward_") ? forward.name.substr(8) : forward.name);
  }
  auto first = direction_weights(c, "forward", 0, forward.name);
  auto second = direction_weights(c, "backward", 1, backward.name);
  if (!first.ok()) return c.remember(std::move(first).error()), Value::failed();
  if (!second.ok()) return c.remember(std::move(second).error()), Value::failed();
  const bool sequences = forward.config["return_sequences"].as_bool(false);
  const bool state = forward.config["return_state"].as_bool(false);
  const Value input = c.arg(0, "inputs").is_none() ? Value::tensor(c.x()) : c.arg(0, "inputs");
  const Value sequence = input.is_list() && !input.items().empty() ? input.items().front() : input;
  Tensors initial = initial_states(c);
  Value kwargs[2] = {Value::dict(), Value::dict()};
  for (size_t i = 0; i < 2; ++i) {
    kwargs[i].set("__zero_masked__", Value::boolean(sequences));
    if (c.kwargs()["mask"].is_tensor()) kwargs[i].set("mask", c.kwargs()["mask"]);
    std::vector<Value> states;
    for (size_t s = i * initial.size() / 2; s < (i + 1) * initial.size() / 2; ++s)
      states.emplace_back(initial[s]);
    if (!states.empty()) kwargs[i].set("initial_state", Value::list(std::move(states)));
  }
  const Value a = c.call(forward, *first, {sequence}, kwargs[0]);
  const Value b = c.call(backward, *second, {sequence}, kwargs[1]);
  if (!c.ok()) return Value::failed();
  const auto main = [&](const Value& v) {
    return v.is_list() && !v.items().empty() ? v.items()[0] : v;
  };
  Tensor* y = main(a).as_tensor();
  Tensor* z = main(b).as_tensor();
  if (y == nullptr || z == nullptr) return c.fail(Code::BadArity, "a direction gives no tensor");
  if (sequences) z = c.reverse(z, 1);
  Tensor* mask = sequences ? c.mask() : nullptr;
  const std::string mode = c.config("merge_mode").is_none() ? "" : c.text("merge_mode", "concat");
  std::vector<Value> values;
  if (mode == "concat") {
    values.push_back(Value::tensor(c.concat({y, z}, c.rank(y) - 1), mask));
  } else if (mode == "sum") {
    values.push_back(Value::tensor(c.plus(y, z), mask));
  } else if (mode == "mul") {
    values.push_back(Value::tensor(c.times(y, z), mask));
  } else if (mode == "ave") {
    values.push_back(Value::tensor(c.times(c.plus(y, z), 0.5), mask));
  } else if (mode.empty()) {
    values = {Value::tensor(y, mask), Value::tensor(z, mask)};
  } else {
    return c.unsupported("merge mode '" + printable(mode) + "'");
  }
  if (state)
    for (const Value* side : {&a, &b})
      for (size_t i = 1; i < side->items().size(); ++i) values.push_back(side->items()[i]);
  return values.size() == 1 ? values.front() : Value::list(std::move(values));
}

// The inner layer on every step: steps and batch are one dimension for it.
Value time_distributed(LayerCall& c) {
  const LayerConfig inner = read_layer(c.config("layer"));
  auto weights = c.weights().child("layer", inner.name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
  Weights own = *weights;
  if (own.empty()) own = c.weights();  // weights under the name of the wrapper alone
  Tensor* x = c.x();
  if (c.rank(x) < 2)
    return c.fail(Code::ShapeMismatch, "a sequence is needed, not " + x->type().text());
  Sizes shape = c.sizes(x), folded = {Size(-1)};
  for (size_t i = 2; i < shape.size(); ++i) folded.push_back(shape[i]);
  // A batch of a known size stays known.
  if (c.is_static(x, 0) && c.is_static(x, 1)) folded[0] = c.product(c.size(x, 0), c.size(x, 1));
  Tensor* y = c.call_one(inner, own, c.reshape(x, folded));
  if (!c.ok()) return Value::failed();
  Sizes result = {shape[0], shape[1]};
  for (int64_t i = 1, n = c.rank(y); i < n; ++i) result.emplace_back(y, i);
  return c.reshape(y, result);
}

constexpr LayerRow kRows[] = {
    {"LSTM", recurrent_layer, MaskRule::Own},
    {"GRU", recurrent_layer, MaskRule::Own},
    {"SimpleRNN", recurrent_layer, MaskRule::Own},
    {"CuDNNLSTM", recurrent_layer, MaskRule::Own},
    {"CuDNNGRU", recurrent_layer, MaskRule::Own},
    {"ConvLSTM1D", recurrent_layer, MaskRule::Own},
    {"ConvLSTM2D", recurrent_layer, MaskRule::Own},
    {"ConvLSTM3D", recurrent_layer, MaskRule::Own},
    {"RNN", generic_rnn, MaskRule::Own},
    {"LSTMCell", cell_layer},
    {"GRUCell", cell_layer},
    {"SimpleRNNCell", cell_layer},
    {"StackedRNNCells", cell_layer},
    {"Bidirectional", bidirectional, MaskRule::Own},
    {"TimeDistributed", time_distributed, MaskRule::Pass},
};

}  // namespace

const std::span<const LayerRow> kRecurrentRows = kRows;

}  // namespace ec::keras
