#include "frontend/torch/aten/recurrent_steps.h"

namespace ec::torch {
namespace {

constexpr int64_t kMaxSteps = 4096;

Result<Tensors> split_gates(Call& c, ec::Tensor* x, int64_t count) {
  AxisAttrs attrs;
  attrs.axis = c.rank(x) - 1;
  const int64_t size = c.size(x, attrs.axis) / count;
  return c.add_many(OpKind::Split, {x, c.int_list(Ints(static_cast<size_t>(count), size))}, attrs,
                    static_cast<size_t>(count));
}

struct Direction {
  ec::Tensor* outputs = nullptr;  // [time, batch, hidden]
  States last;
};

Result<Direction> run_direction(Call& c, ec::Tensor* x, const StepCell& cell, States state,
                                bool backward) {
  const int64_t length = c.size(x, 0);
  EC_TRY(ec::Tensor * products, cell.input(x));
  Tensors outputs(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = backward ? length - 1 - i : i;
    EC_TRY(ec::Tensor * input, c.gather(products, c.scalar(DType::I64, static_cast<double>(t)), 0));
    EC_TRY(ec::Tensor * hidden, cell.hidden(state[0]));
    EC_TRY(state, cell.step(input, hidden, state));
    EC_TRY(outputs[static_cast<size_t>(t)], c.unsqueeze(state[0], {0}));
  }
  Direction result;
  EC_TRY(result.outputs, c.concat(std::move(outputs), 0));
  result.last = std::move(state);
  return result;
}

}  // namespace

// Gates i, f, g, o.
Result<States> lstm_step(Call& c, ec::Tensor* input, ec::Tensor* hidden, const States& state) {
  EC_TRY(ec::Tensor * sums, c.add(OpKind::Add, {input, hidden}));
  EC_TRY(Tensors g, split_gates(c, sums, 4));
  for (const size_t i : {0u, 1u, 3u}) {
    EC_TRY(g[i], c.add(OpKind::Sigmoid, {g[i]}));
  }
  EC_TRY(g[2], c.add(OpKind::Tanh, {g[2]}));
  EC_TRY(ec::Tensor * kept, c.add(OpKind::Mul, {g[1], state[1]}));
  EC_TRY(ec::Tensor * added, c.add(OpKind::Mul, {g[0], g[2]}));
  EC_TRY(ec::Tensor * cell, c.add(OpKind::Add, {kept, added}));
  EC_TRY(ec::Tensor * squashed, c.add(OpKind::Tanh, {cell}));
  EC_TRY(ec::Tensor * next, c.add(OpKind::Mul, {g[3], squashed}));
  return States{next, cell};
}

// Gates r, z, n.
Result<States> gru_step(Call& c, ec::Tensor* input, ec::Tensor* hidden, const States& state) {
  EC_TRY(const Tensors a, split_gates(c, input, 3));
  EC_TRY(const Tensors b, split_gates(c, hidden, 3));
  Tensors rz;
  for (const size_t i : {0u, 1u}) {
    EC_TRY(ec::Tensor * sum, c.add(OpKind::Add, {a[i], b[i]}));
    EC_TRY(sum, c.add(OpKind::Sigmoid, {sum}));
    rz.push_back(sum);
  }
  EC_TRY(ec::Tensor * reset, c.add(OpKind::Mul, {rz[0], b[2]}));
  EC_TRY(ec::Tensor * sum, c.add(OpKind::Add, {a[2], reset}));
  EC_TRY(ec::Tensor * fresh, c.add(OpKind::Tanh, {sum}));
  EC_TRY(ec::Tensor * d, c.add(OpKind::Sub, {state[0], fresh}));
  EC_TRY(d, c.add(OpKind::Mul, {rz[1], d}));
  EC_TRY(ec::Tensor * next, c.add(OpKind::Add, {fresh, d}));
  return States{next};
}

Result<std::vector<TorchValue>> unrolled_sequence(Call& c, const Tensors& initial,
                                                  std::span<const StepCell> cells) {
  ec::Tensor* x = c.tensor("input");
  const bool batch_first = c.boolean("batch_first");
  const size_t directions = c.boolean("bidirectional") ? 2 : 1;
  if (c.rank(x) != 3) return c.unsupported("inputs without a batch dimension");
  if (batch_first) {
    EC_TRY(x, c.transpose(x, {1, 0, 2}));
  }
  if (c.size(x, 0) < 1 || c.size(x, 0) > kMaxSteps)
    return c.unsupported("sequences of this length");
  std::vector<Tensors> finals(initial.size());
  for (size_t first = 0; first < cells.size(); first += directions) {
    Tensors outputs;
    for (size_t d = 0; d < directions; ++d) {
      States state;
      for (ec::Tensor* start : initial) {
        EC_TRY(ec::Tensor * own,
               c.gather(start, c.scalar(DType::I64, static_cast<double>(first + d)), 0));
        state.push_back(own);
      }
      EC_TRY(const Direction result,
             run_direction(c, x, cells[first + d], std::move(state), d == 1));
      outputs.push_back(result.outputs);
      for (size_t s = 0; s < finals.size(); ++s) {
        EC_TRY(ec::Tensor * last, c.unsqueeze(result.last[s], {0}));
        finals[s].push_back(last);
      }
    }
    EC_TRY(x, c.concat(std::move(outputs), 2));
  }
  if (batch_first) {
    EC_TRY(x, c.transpose(x, {1, 0, 2}));
  }
  std::vector<TorchValue> results = {x};
  for (Tensors& states : finals) {
    EC_TRY(ec::Tensor * all, c.concat(std::move(states), 0));
    results.emplace_back(all);
  }
  return results;
}

}  // namespace ec::torch
