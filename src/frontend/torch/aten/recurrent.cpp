// LSTM, GRU, RNN over sequences, and their single steps.
#include "frontend/torch/aten/linear.h"
#include "frontend/torch/aten/recurrent_steps.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

enum class Cell { Lstm, Gru, Tanh, Relu };

// PyTorch's gates (lstm i,f,g,o; gru r,z,n) in the IR's order (lstm i,o,f,g; gru z,r,n).
Ints gate_order(Cell cell) {
  if (cell == Cell::Lstm) return {0, 3, 1, 2};
  if (cell == Cell::Gru) return {1, 0, 2};
  return {0};
}

// Rows of a parameter [gates * hidden, ...] in the IR's order.
Result<ec::Tensor*> reorder(Call& c, ec::Tensor* x, Cell cell, int64_t hidden) {
  const Ints order = gate_order(cell);
  if (order.size() == 1) return x;
  const auto gates = static_cast<int64_t>(order.size());
  const bool matrix = c.rank(x) == 2;
  const int64_t columns = matrix ? c.size(x, 1) : 0;
  if (c.size(x, 0) != gates * hidden)
    return c.fail(Code::ShapeMismatch, "weights " + x->type().text() + " have not " +
                                           std::to_string(gates) + " gates of " +
                                           std::to_string(hidden));
  EC_TRY(x, c.reshape(x, matrix ? Ints{gates, hidden, columns} : Ints{gates, hidden}));
  EC_TRY(x, c.gather(x, c.int_list(order), 0));
  return c.reshape(x, matrix ? Ints{gates * hidden, columns} : Ints{gates * hidden});
}

struct Layer {
  ec::Tensor* w = nullptr;  // [directions, gates * hidden, in]
  ec::Tensor* r = nullptr;
  ec::Tensor* b = nullptr;  // [directions, 2 * gates * hidden], or none
};

// Parameters of one layer: per direction w_ih, w_hh and, with biases, b_ih, b_hh.
Result<Layer> layer_parameters(Call& c, std::span<ec::Tensor* const> params, Cell cell,
                               int64_t hidden, size_t directions, bool biases) {
  Tensors ws, rs, bs;
  const size_t step = biases ? 4 : 2;
  for (size_t d = 0; d < directions; ++d) {
    Tensors own;
    for (size_t i = 0; i < step; ++i) {
      EC_TRY(ec::Tensor * x, reorder(c, params[d * step + i], cell, hidden));
      own.push_back(x);
    }
    EC_TRY(ec::Tensor * w, c.unsqueeze(own[0], {0}));
    EC_TRY(ec::Tensor * r, c.unsqueeze(own[1], {0}));
    ws.push_back(w);
    rs.push_back(r);
    if (biases) {
      EC_TRY(ec::Tensor * b, c.concat({own[2], own[3]}, 0));
      EC_TRY(b, c.unsqueeze(b, {0}));
      bs.push_back(b);
    }
  }
  Layer layer;
  EC_TRY(layer.w, c.concat(std::move(ws), 0));
  EC_TRY(layer.r, c.concat(std::move(rs), 0));
  if (biases) {
    EC_TRY(layer.b, c.concat(std::move(bs), 0));
  }
  return layer;
}

RecurrentAttrs attributes(Cell cell, int64_t hidden, bool bidirectional) {
  RecurrentAttrs attrs;
  attrs.hidden_size = hidden;
  attrs.direction = bidirectional ? Direction::Bidirectional : Direction::Forward;
  attrs.linear_before_reset = cell == Cell::Gru;
  if (cell == Cell::Relu) attrs.activations.assign(bidirectional ? 2 : 1, "Relu");
  return attrs;
}

// The final states of all layers as PyTorch stacks them.
Result<ec::Tensor*> final_states(Call& c, Tensors states, bool unbatched) {
  EC_TRY(ec::Tensor * all, c.concat(std::move(states), 0));
  return unbatched ? c.squeeze(all, {1}) : Result<ec::Tensor*>(all);
}

// An LSTM whose hidden state is a projection (proj_size): one more matrix for each direction.
Result<std::vector<TorchValue>> projected_lstm(Call& c, const Tensors& initial,
                                               const Tensors& params, size_t per_cell) {
  std::vector<StepCell> cells;
  for (size_t at = 0; at < params.size(); at += per_cell) {
    const bool biases = per_cell == 5;
    ec::Tensor* projection = params[at + per_cell - 1];
    const auto times = [&c](ec::Tensor* weight, ec::Tensor* bias) {
      return [&c, weight, bias](ec::Tensor* x) { return linear(c, x, weight, bias); };
    };
    cells.push_back({times(params[at], biases ? params[at + 2] : nullptr),
                     times(params[at + 1], biases ? params[at + 3] : nullptr),
                     [&c, projection](ec::Tensor* input, ec::Tensor* hidden,
                                      const States& state) -> Result<States> {
                       EC_TRY(States next, lstm_step(c, input, hidden, state));
                       EC_TRY(next[0], linear(c, next[0], projection, nullptr));
                       return next;
                     }});
  }
  return unrolled_sequence(c, initial, cells);
}

// [time, directions, batch, hidden] to [time, batch, directions * hidden]
Result<ec::Tensor*> join_directions(Call& c, ec::Tensor* y, size_t directions, int64_t hidden) {
  if (directions == 1) return c.squeeze(y, {1});
  EC_TRY(ec::Tensor * rows, c.transpose(y, {0, 2, 1, 3}));
  return c.reshape(rows, Ints{c.size(rows, 0), c.size(rows, 1), 2 * hidden});
}

Result<std::vector<TorchValue>> sequence(Call& c, Cell cell) {
  ec::Tensor* x = c.tensor("input");
  Tensors initial = cell == Cell::Lstm ? c.tensors("hx") : Tensors{c.tensor("hx")};
  const Tensors params = c.tensors("params");
  const bool biases = c.boolean("has_biases"), bidirectional = c.boolean("bidirectional");
  const bool batch_first = c.boolean("batch_first"), unbatched = c.rank(x) == 2;
  const int64_t layers = c.integer("num_layers");
  const size_t directions = bidirectional ? 2 : 1;
  if (initial.size() != (cell == Cell::Lstm ? 2u : 1u) || layers < 1 || layers > 1024)
    return c.fail(Code::BadArity, "states or layers are missing");
  const size_t cells = directions * static_cast<size_t>(layers), per_cell = biases ? 4 : 2,
               step = directions * per_cell;
  if (cell == Cell::Lstm && params.size() == cells * (per_cell + 1))
    return projected_lstm(c, initial, params, per_cell + 1);
  if (params.size() != cells * per_cell)
    return c.fail(Code::BadArity, "parameters of layers are missing");
  if (unbatched) {
    EC_TRY(x, c.unsqueeze(x, {1}));
    for (ec::Tensor*& state : initial) {
      EC_TRY(state, c.unsqueeze(state, {1}));
    }
  } else if (batch_first) {
    EC_TRY(x, c.transpose(x, {1, 0, 2}));
  }
  const int64_t hidden = c.size(params[1], 1);
  const size_t num_states = initial.size();
  std::vector<Tensors> finals(num_states);
  const OpKind kind = cell == Cell::Lstm  ? OpKind::Lstm
                      : cell == Cell::Gru ? OpKind::Gru
                                          : OpKind::Rnn;
  for (int64_t i = 0; i < layers; ++i) {
    EC_TRY(const Layer layer,
           layer_parameters(c, std::span(params).subspan(static_cast<size_t>(i) * step, step), cell,
                            hidden, directions, biases));
    Tensors operands = {x, layer.w, layer.r, layer.b, nullptr};
    for (ec::Tensor* state : initial) {
      const auto count = static_cast<int64_t>(directions);
      EC_TRY(ec::Tensor * own, layers == 1 ? Result<ec::Tensor*>(state)
                                           : c.slice(state, 0, i * count, (i + 1) * count));
      operands.push_back(own);
    }
    EC_TRY(const Tensors results,
           c.add_many(kind, std::move(operands), attributes(cell, hidden, bidirectional),
                      1 + num_states));
    for (size_t s = 0; s < num_states; ++s) finals[s].push_back(results[1 + s]);
    EC_TRY(x, join_directions(c, results[0], directions, hidden));
  }
  if (unbatched) {
    EC_TRY(x, c.squeeze(x, {1}));
  } else if (batch_first) {
    EC_TRY(x, c.transpose(x, {1, 0, 2}));
  }
  std::vector<TorchValue> outputs = {x};
  for (Tensors& states : finals) {
    EC_TRY(ec::Tensor * state, final_states(c, std::move(states), unbatched));
    outputs.emplace_back(state);
  }
  return outputs;
}

Result<std::vector<TorchValue>> lstm(Call& c) { return sequence(c, Cell::Lstm); }
Result<std::vector<TorchValue>> gru(Call& c) { return sequence(c, Cell::Gru); }
Result<std::vector<TorchValue>> rnn_tanh(Call& c) { return sequence(c, Cell::Tanh); }
Result<std::vector<TorchValue>> rnn_relu(Call& c) { return sequence(c, Cell::Relu); }

// --- single steps --------------------------------------------------------------------------------

struct Products {
  ec::Tensor* input;
  ec::Tensor* hidden;
};
Result<Products> products(Call& c, ec::Tensor* state) {
  EC_TRY(ec::Tensor * a, linear(c, c.tensor("input"), c.tensor("w_ih"), c.tensor("b_ih")));
  EC_TRY(ec::Tensor * b, linear(c, state, c.tensor("w_hh"), c.tensor("b_hh")));
  return Products{a, b};
}

Result<std::vector<TorchValue>> lstm_cell(Call& c) {
  const Tensors state = c.tensors("hx");
  if (state.size() != 2) return c.fail(Code::BadArity, "two states are needed");
  EC_TRY(const Products p, products(c, state[0]));
  EC_TRY(const States next, lstm_step(c, p.input, p.hidden, state));
  return std::vector<TorchValue>{next[0], next[1]};
}

Result<ec::Tensor*> gru_cell(Call& c) {
  ec::Tensor* state = c.tensor("hx");
  EC_TRY(const Products p, products(c, state));
  EC_TRY(const States next, gru_step(c, p.input, p.hidden, {state}));
  return next[0];
}

template <OpKind kActivation>
Result<ec::Tensor*> rnn_cell(Call& c) {
  EC_TRY(const Products p, products(c, c.tensor("hx")));
  EC_TRY(ec::Tensor * sum, c.add(OpKind::Add, {p.input, p.hidden}));
  return c.add(kActivation, {sum});
}

#define EC_SEQUENCE                                                               \
  "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, " \
  "bool bidirectional, bool batch_first) -> "
#define EC_CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "

constexpr OperatorRow kRows[] = {
    {"aten::lstm.input(Tensor input, Tensor[] hx, " EC_SEQUENCE "(Tensor, Tensor, Tensor)", lstm},
    {"aten::gru.input(Tensor input, Tensor hx, " EC_SEQUENCE "(Tensor, Tensor)", gru},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, " EC_SEQUENCE "(Tensor, Tensor)", rnn_tanh},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, " EC_SEQUENCE "(Tensor, Tensor)", rnn_relu},
    {"aten::lstm_cell(Tensor input, Tensor[] hx, " EC_CELL "(Tensor, Tensor)", lstm_cell},
    {"aten::gru_cell(Tensor input, Tensor hx, " EC_CELL "Tensor", gru_cell},
    {"aten::rnn_tanh_cell(Tensor input, Tensor hx, " EC_CELL "Tensor", rnn_cell<OpKind::Tanh>},
    {"aten::rnn_relu_cell(Tensor input, Tensor hx, " EC_CELL "Tensor", rnn_cell<OpKind::Relu>},
};

}  // namespace

const std::span<const OperatorRow> kRecurrentRows = kRows;

}  // namespace ec::torch
