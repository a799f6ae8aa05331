#include "frontend/tensorflow/recurrent_loop.h"

#include <algorithm>
#include <array>

#include "frontend/known_values.h"
#include "frontend/tensorflow/linear_form.h"

namespace ec::tf {
namespace {

constexpr size_t kFirstCarried = 2;  // behind iteration and condition

const Operation* made_by(const ec::Tensor* tensor, OpKind kind) {
  const Operation* op = tensor->producer();
  return op != nullptr && op->kind() == kind ? op : nullptr;
}

// An activation and what it is applied to.
struct Activated {
  const char* name = nullptr;
  const ec::Tensor* x = nullptr;
};

std::optional<Activated> activated(const ec::Tensor* tensor) {
  const Operation* op = tensor->producer();
  if (op == nullptr) return std::nullopt;
  switch (op->kind()) {
    case OpKind::Sigmoid:
      return Activated{"Sigmoid", op->input(0)};
    case OpKind::Tanh:
      return Activated{"Tanh", op->input(0)};
    case OpKind::Relu:
      return Activated{"Relu", op->input(0)};
    default:
      return std::nullopt;
  }
}

// One gate's parameters, [in, hidden], [hidden, hidden] and two biases.
struct Gate {
  Matrix x, h;
  std::vector<float> bias, recurrent_bias;
};

struct Cell {
  OpKind kind = OpKind::Lstm;
  std::vector<Gate> gates;  // in the IR's order
  std::vector<std::string> activations;
  bool linear_before_reset = false;
  const ec::Tensor* hidden = nullptr;  // the new hidden state
  size_t h = 0, c = 0;                 // which carried values they are
};

class CellFinder {
 public:
  CellFinder(const Graph& body, size_t carried) : body_(body), carried_(carried) {}

  std::optional<Cell> find() {
    x_ = find_element();
    if (x_ == nullptr) return std::nullopt;
    if (carried_ == 2) {
      if (auto cell = lstm(0, 1)) return cell;
      return lstm(1, 0);
    }
    if (carried_ != 1) return std::nullopt;
    if (auto cell = gru()) return cell;
    return rnn();
  }
  // The stack that the element of an iteration comes from: an input of the body.
  const ec::Tensor* stack() const { return x_->producer()->input(0); }

 private:
  const ec::Tensor* before(size_t k) const { return body_.inputs()[kFirstCarried + k]; }
  const ec::Tensor* after(size_t k) const { return body_.outputs()[1 + k]; }

  // gather(stack, iteration): the only one.
  const ec::Tensor* find_element() const {
    const ec::Tensor* found = nullptr;
    for (const Operation* op : body_.topological()) {
      if (op->kind() != OpKind::Gather || op->attrs_as<GatherAttrs>().axis != 0) continue;
      const ec::Tensor* index = op->input(1);
      if (const Operation* cast = made_by(index, OpKind::Cast)) index = cast->input(0);
      if (index != body_.inputs()[0] || !op->input(0)->is_input()) continue;
      if (found != nullptr && found->producer()->input(0) != op->input(0)) return nullptr;
      if (found == nullptr) found = op->output();
    }
    return found;
  }

  std::optional<Gate> gate(const LinearForm* form) const {
    if (form == nullptr || !form->x || !form->h) return std::nullopt;
    Gate gate{*form->x, *form->h, form->bias, {}};
    if (gate.h.rows != gate.h.columns || gate.x.columns != gate.h.columns) return std::nullopt;
    return gate;
  }

  // sigmoid(gate) * other, in either order.
  struct Gated {
    const ec::Tensor* gate;
    const ec::Tensor* other;
  };
  static std::vector<Gated> gated(const ec::Tensor* tensor) {
    const Operation* op = made_by(tensor, OpKind::Mul);
    if (op == nullptr) return {};
    return {{op->input(0), op->input(1)}, {op->input(1), op->input(0)}};
  }

  // c' = f(F) * c + f(I) * g(G), h' = f(O) * g(c')
  std::optional<Cell> lstm(size_t h, size_t c) {
    LinearReader linear(x_, before(h));
    const ec::Tensor *new_c = after(c), *new_h = after(h);
    const Operation* sum = made_by(new_c, OpKind::Add);
    if (sum == nullptr) return std::nullopt;
    for (const Gated& out : gated(new_h)) {
      const auto o = activated(out.gate), squashed = activated(out.other);
      if (!o || !squashed || squashed->x != new_c) continue;
      for (size_t side = 0; side < 2; ++side)
        for (const Gated& kept : gated(sum->input(side))) {
          if (kept.other != before(c)) continue;
          const auto f = activated(kept.gate);
          for (const Gated& added : gated(sum->input(1 - side))) {
            const auto i = activated(added.gate), g = activated(added.other);
            if (!f || !i || !g || std::string_view(f->name) != i->name ||
                std::string_view(o->name) != i->name)
              continue;
            // When both factors have the same activation, the order of the gates is free.
            Cell cell;
            cell.activations = {i->name, g->name, squashed->name};
            bool complete = true;
            for (const ec::Tensor* pre : {i->x, o->x, f->x, g->x}) {
              auto made = gate(linear.read(pre));
              complete = complete && made;
              if (made) cell.gates.push_back(std::move(*made));
            }
            if (!complete) continue;
            cell.hidden = new_h;
            cell.h = h;
            cell.c = c;
            return cell;
          }
        }
    }
    return std::nullopt;
  }

  // h' = z * h + (1 - z) * n
  std::optional<Cell> gru() {
    const Operation* sum = made_by(after(0), OpKind::Add);
    if (sum == nullptr) return std::nullopt;
    LinearReader linear(x_, before(0));
    for (size_t side = 0; side < 2; ++side)
      for (const Gated& kept : gated(sum->input(side))) {
        if (kept.other != before(0)) continue;
        for (const Gated& added : gated(sum->input(1 - side))) {
          const Operation* rest = made_by(added.gate, OpKind::Sub);
          if (rest == nullptr || known_scalar(rest->input(0)) != 1.0 || rest->input(1) != kept.gate)
            continue;
          const auto z = activated(kept.gate), n = activated(added.other);
          if (!z || !n) continue;
          auto update = gate(linear.read(z->x));
          if (!update) continue;
          Cell cell;
          cell.kind = OpKind::Gru;
          cell.gates.push_back(std::move(*update));
          cell.activations = {z->name, n->name};
          cell.hidden = after(0);
          if (candidate(linear, n->x, cell)) return cell;
        }
      }
    return std::nullopt;
  }

  // X + r * H, or X + (r * h) * R.
  bool candidate(LinearReader& linear, const ec::Tensor* pre, Cell& cell) {
    const Operation* sum = made_by(pre, OpKind::Add);
    if (sum == nullptr) return false;
    for (size_t side = 0; side < 2; ++side) {
      const LinearForm* input = linear.read(sum->input(side));
      if (input == nullptr || !input->x || input->h) continue;
      const ec::Tensor* other = sum->input(1 - side);
      const Operation* product = made_by(other, OpKind::MatMul);
      const ec::Tensor* reset_product = product != nullptr ? product->input(0) : other;
      for (const Gated& reset : gated(reset_product)) {
        const auto r = activated(reset.gate);
        if (!r || cell.activations[0] != r->name) continue;
        auto reset_gate = gate(linear.read(r->x));
        if (!reset_gate) continue;
        Gate own;
        own.x = *input->x;
        own.bias = input->bias;
        if (product != nullptr) {
          const auto& attrs = product->attrs_as<MatMulAttrs>();
          const auto matrix = constant_matrix(product->input(1));
          if (reset.other != before(0) || !matrix || attrs.transpose_a || attrs.transpose_b ||
              attrs.alpha != 1.0f || product->input(2) != nullptr)
            continue;
          own.h = *matrix;
        } else {
          const LinearForm* hidden = linear.read(reset.other);
          if (hidden == nullptr || hidden->x || !hidden->h) continue;
          own.h = *hidden->h;
          own.recurrent_bias = hidden->bias;
          cell.linear_before_reset = true;
        }
        cell.gates.push_back(std::move(*reset_gate));
        cell.gates.push_back(std::move(own));
        return true;
      }
    }
    return false;
  }

  // h' = f(X + H)
  std::optional<Cell> rnn() {
    const auto squashed = activated(after(0));
    if (!squashed) return std::nullopt;
    LinearReader linear(x_, before(0));
    auto only = gate(linear.read(squashed->x));
    if (!only) return std::nullopt;
    Cell cell;
    cell.kind = OpKind::Rnn;
    cell.gates.push_back(std::move(*only));
    cell.activations = {squashed->name};
    cell.hidden = after(0);
    return cell;
  }

  const Graph& body_;
  const size_t carried_;
  const ec::Tensor* x_ = nullptr;
};

// Matrices [in, hidden] of all gates as [1, gates * hidden, in].
ec::Tensor* stacked(Graph& graph, const std::vector<Gate>& gates, Matrix Gate::*which) {
  const size_t rows = (gates[0].*which).rows, hidden = (gates[0].*which).columns;
  std::vector<float> values;
  values.reserve(gates.size() * rows * hidden);
  for (const Gate& gate : gates)
    for (size_t unit = 0; unit < hidden; ++unit)
      for (size_t row = 0; row < rows; ++row)
        values.push_back((gate.*which).values[row * hidden + unit]);
  return graph.add_constant<float>(
      "", Shape{1, static_cast<int64_t>(gates.size() * hidden), static_cast<int64_t>(rows)},
      std::span<const float>(values));
}

ec::Tensor* stacked_biases(Graph& graph, const std::vector<Gate>& gates) {
  std::vector<float> values;
  const size_t hidden = gates[0].h.columns;
  for (auto which : {&Gate::bias, &Gate::recurrent_bias})
    for (const Gate& gate : gates) {
      const std::vector<float>& bias = gate.*which;
      for (size_t unit = 0; unit < hidden; ++unit)
        values.push_back(bias.empty() ? 0.0f : bias[unit]);
    }
  return graph.add_constant<float>("", Shape{1, static_cast<int64_t>(values.size())},
                                   std::span<const float>(values));
}

bool same_sizes(const Cell& cell) {
  return std::all_of(cell.gates.begin(), cell.gates.end(), [&](const Gate& gate) {
    const Gate& first = cell.gates[0];
    return gate.x.rows == first.x.rows && gate.x.columns == first.x.columns &&
           gate.h.rows == first.h.rows && gate.h.columns == first.h.columns &&
           gate.h.rows == gate.h.columns && gate.x.columns == gate.h.columns;
  });
}

// Whether the loop runs once for every element of the stack.
bool runs_over(const ec::Tensor* trips, const ec::Tensor* stack) {
  if (!stack->shape() || stack->shape()->rank() != 3) return false;
  const Dim& length = (*stack->shape())[0];
  if (const auto known = known_scalar(trips))
    return length.is_static() && static_cast<double>(length.size()) == *known;
  const auto& dims = trips->dim_values();
  return dims && dims->size() == 1 && dims->front().same_size(length);
}

}  // namespace

Result<std::optional<RecurrentResults>> recurrent_layer(OpBuilder& build,
                                                        const RecurrentLoop& loop) {
  const std::optional<RecurrentResults> none;
  const Graph& body = *loop.body;
  const size_t carried = loop.initial.size();
  CellFinder finder(body, carried);
  const std::optional<Cell> cell = finder.find();
  if (!cell || !same_sizes(*cell)) return none;
  for (size_t i = 1 + carried; i < body.outputs().size(); ++i)
    if (body.outputs()[i] != cell->hidden) return none;
  const auto& inputs = body.inputs();
  const auto place = std::find(inputs.begin(), inputs.end(), finder.stack()) - inputs.begin();
  const auto first = static_cast<std::ptrdiff_t>(kFirstCarried + carried);
  if (place < first) return none;
  ec::Tensor* x = loop.captures[static_cast<size_t>(place - first)];
  if (x->dtype() != DType::F32 || !runs_over(loop.trips, x)) return none;
  RecurrentAttrs attrs;
  attrs.hidden_size = static_cast<int64_t>(cell->gates[0].h.columns);
  attrs.activations = cell->activations;
  attrs.linear_before_reset = cell->linear_before_reset;
  Graph& graph = build.graph();
  std::vector<ec::Tensor*> operands = {x, stacked(graph, cell->gates, &Gate::x),
                                       stacked(graph, cell->gates, &Gate::h),
                                       stacked_biases(graph, cell->gates), nullptr};
  EC_TRY(ec::Tensor * h, build.unsqueeze(loop.initial[cell->h], {0}));
  operands.push_back(h);
  const bool lstm = cell->kind == OpKind::Lstm;
  if (lstm) {
    EC_TRY(ec::Tensor * c, build.unsqueeze(loop.initial[cell->c], {0}));
    operands.push_back(c);
  }
  EC_TRY(const std::vector<ec::Tensor*> made,
         build.add_many(cell->kind, std::move(operands), attrs, lstm ? 3 : 2));
  RecurrentResults results;
  results.carried.resize(carried);
  EC_TRY(results.carried[cell->h], build.squeeze(made[1], {0}));
  if (lstm) {
    EC_TRY(results.carried[cell->c], build.squeeze(made[2], {0}));
  }
  EC_TRY(ec::Tensor * sequence, build.squeeze(made[0], {1}));
  results.collected.assign(body.outputs().size() - 1 - carried, sequence);
  return std::optional(std::move(results));
}

}  // namespace ec::tf
