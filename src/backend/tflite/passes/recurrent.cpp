// Recurrent layers, step by step: the products with the inputs in one go, then one small product
// and the gates for each step. TFLite's own recurrent operators keep their state from one run to
// the next, which the models here do not mean.
#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// Beyond this the file would be mostly copies of the same step.
constexpr int64_t kMaxSteps = 1024;

// Operands: x, w, r, b, lengths, initial h, initial c, peepholes.
enum : size_t { kX, kW, kR, kB, kLens, kH0, kC0, kP };

struct Sizes {
  int64_t time = 0, batch = 0, hidden = 0, gates = 0;
};

// One direction of a layer: constants and the functions between the gates.
class Layer {
 public:
  Layer(Replacement& parts, const Operation* op, Sizes sizes, int64_t direction)
      : p_(parts), op_(op), sizes_(sizes), direction_(direction) {}

  // States after each step, in order of time, each [batch, hidden].
  std::vector<Tensor*> run(Tensor* x, bool backwards) {
    weights_ = constant(kR, direction_);
    Tensor* inputs = constant(kW, direction_);
    Tensor* sum = p_.op(OpKind::MatMul, {x, inputs}, MatMulAttrs{.transpose_b = true});
    if (op_->input(kB) != nullptr) sum = p_.add(sum, input_bias());
    Tensor* h = state(kH0);
    cell_ = op_->kind() == OpKind::Lstm ? state(kC0) : nullptr;
    std::vector<Tensor*> states(static_cast<size_t>(sizes_.time), nullptr);
    for (int64_t i = 0; i < sizes_.time && p_.ok(); ++i) {
      const int64_t t = backwards ? sizes_.time - 1 - i : i;
      Tensor* step =
          p_.sized(p_.slice(sum, 0, t, t + 1), {sizes_.batch, sizes_.gates * sizes_.hidden});
      h = op_->kind() == OpKind::Lstm  ? lstm(step, h)
          : op_->kind() == OpKind::Gru ? gru(step, h)
                                       : p_.unary(OpKind::Tanh, p_.add(step, product(h)));
      states[static_cast<size_t>(t)] = h;
    }
    last_ = h;
    return states;
  }
  Tensor* last() const { return last_; }
  Tensor* cell() const { return cell_; }

 private:
  // Entry `index` of a constant's first dimension.
  Tensor* constant(size_t operand, int64_t index) {
    Tensor* whole = op_->input(operand);
    const std::vector<int64_t> shape = whole->shape()->sizes();
    int64_t count = 1;
    for (size_t d = 1; d < shape.size(); ++d) count *= shape[d];
    const size_t bytes = static_cast<size_t>(count) * element_size(whole->dtype());
    return p_.rewriter().graph().add_constant(
        "", TensorType(whole->dtype(), Shape::of(std::span(shape).subspan(1))),
        whole->data().slice(static_cast<size_t>(index) * bytes, bytes));
  }
  std::vector<float> biases() {
    const auto all = op_->input(kB)->values<float>();
    const auto each = static_cast<size_t>(2 * sizes_.gates * sizes_.hidden);
    const auto own = all.subspan(static_cast<size_t>(direction_) * each, each);
    return {own.begin(), own.end()};
  }
  // Both biases, but for the one that a gru applies before its reset gate.
  Tensor* input_bias() {
    const std::vector<float> both = biases();
    const auto half = static_cast<size_t>(sizes_.gates * sizes_.hidden);
    std::vector<float> sum(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(half));
    const size_t shared = resets_late() ? half / 3 * 2 : half;
    for (size_t i = 0; i < shared; ++i) sum[i] += both[half + i];
    return p_.floats(Shape{static_cast<int64_t>(half)}, sum);
  }
  bool resets_late() const {
    return op_->kind() == OpKind::Gru && op_->attrs_as<RecurrentAttrs>().linear_before_reset;
  }
  Tensor* state(size_t operand) {
    const std::vector<int64_t> shape{sizes_.batch, sizes_.hidden};
    if (op_->input(operand) == nullptr) {
      const std::vector<float> zeros(static_cast<size_t>(sizes_.batch * sizes_.hidden), 0.0f);
      return p_.floats(Shape::of(shape), zeros);
    }
    const int64_t axis = op_->attrs_as<RecurrentAttrs>().batch_first ? 1 : 0;
    return p_.sized(p_.slice(op_->input(operand), axis, direction_, direction_ + 1), shape);
  }
  Tensor* product(Tensor* h) {
    return p_.op(OpKind::MatMul, {h, weights_}, MatMulAttrs{.transpose_b = true});
  }
  Tensor* gate(Tensor* gates, int64_t i) {
    return p_.slice(gates, 1, i * sizes_.hidden, (i + 1) * sizes_.hidden);
  }
  Tensor* sigmoid(Tensor* x) { return p_.unary(OpKind::Sigmoid, x); }

  // Gates: input, output, forget, cell.
  Tensor* lstm(Tensor* step, Tensor* h) {
    Tensor* gates = p_.add(step, product(h));
    Tensor* kept = p_.mul(sigmoid(gate(gates, 2)), cell_);
    Tensor* taken =
        p_.op(OpKind::Mul, {sigmoid(gate(gates, 0)), p_.unary(OpKind::Tanh, gate(gates, 3))});
    cell_ = p_.add(kept, taken);
    return p_.op(OpKind::Mul, {sigmoid(gate(gates, 1)), p_.unary(OpKind::Tanh, cell_)});
  }
  // Gates: update, reset, hidden.
  Tensor* gru(Tensor* step, Tensor* h) {
    Tensor *z = nullptr, *fresh = nullptr;
    if (resets_late()) {
      Tensor* recurrent = product(h);
      z = sigmoid(p_.op(OpKind::Add, {gate(step, 0), gate(recurrent, 0)}));
      Tensor* reset = sigmoid(p_.op(OpKind::Add, {gate(step, 1), gate(recurrent, 1)}));
      Tensor* inner = gate(recurrent, 2);
      if (op_->input(kB) != nullptr) {
        const std::vector<float> both = biases();
        inner = p_.add(inner, p_.floats(Shape{sizes_.hidden},
                                        std::span(both).last(static_cast<size_t>(sizes_.hidden))));
      }
      fresh = p_.unary(OpKind::Tanh, p_.op(OpKind::Add, {gate(step, 2), p_.mul(reset, inner)}));
    } else {
      const auto rows = [&](int64_t from, int64_t to) {
        const auto width = static_cast<size_t>(sizes_.hidden) * sizeof(float);
        return p_.rewriter().graph().add_constant(
            "", TensorType(DType::F32, Shape{to - from, sizes_.hidden}),
            weights_->data().slice(static_cast<size_t>(from) * width,
                                   static_cast<size_t>(to - from) * width));
      };
      const MatMulAttrs transposed{.transpose_b = true};
      Tensor* recurrent = p_.op(OpKind::MatMul, {h, rows(0, 2 * sizes_.hidden)}, transposed);
      z = sigmoid(p_.op(OpKind::Add, {gate(step, 0), gate(recurrent, 0)}));
      Tensor* reset = sigmoid(p_.op(OpKind::Add, {gate(step, 1), gate(recurrent, 1)}));
      Tensor* inner =
          p_.op(OpKind::MatMul, {p_.mul(reset, h), rows(2 * sizes_.hidden, 3 * sizes_.hidden)},
                transposed);
      fresh = p_.unary(OpKind::Tanh, p_.add(gate(step, 2), inner));
    }
    // (1 - z) fresh + z h
    return p_.add(fresh, p_.mul(z, p_.sub(h, fresh)));
  }

  Replacement& p_;
  const Operation* op_;
  Sizes sizes_;
  int64_t direction_;
  Tensor *weights_ = nullptr, *cell_ = nullptr, *last_ = nullptr;
};

bool has_usual_form(const Operation* op) {
  const auto& attrs = op->attrs_as<RecurrentAttrs>();
  if (has_quant(op) || op->output()->dtype() != DType::F32 || attrs.clip != 0 ||
      attrs.input_forget || attrs.dynamic_quantize_inputs)
    return false;
  if (!attrs.activations.empty()) {
    const bool lstm = op->kind() == OpKind::Lstm, gru = op->kind() == OpKind::Gru;
    const std::vector<std::string> usual = lstm
                                               ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                           : gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                 : std::vector<std::string>{"Tanh"};
    for (size_t i = 0; i < attrs.activations.size(); ++i)
      if (attrs.activations[i] != usual[i % usual.size()]) return false;
  }
  for (const size_t i : {kW, kR, kB})
    if (op->input(i) != nullptr && !is_constant(op->input(i))) return false;
  return op->input(kLens) == nullptr && op->input(kP) == nullptr;
}

Result<bool> unroll(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<RecurrentAttrs>();
  const auto x_shape = static_shape(op->input(kX)), w_shape = static_shape(op->input(kW));
  if (!has_usual_form(op) || !x_shape || !w_shape) return false;
  const bool both = attrs.direction == Direction::Bidirectional;
  Sizes sizes;
  sizes.time = (*x_shape)[attrs.batch_first ? 1 : 0];
  sizes.batch = (*x_shape)[attrs.batch_first ? 0 : 1];
  sizes.gates = op->kind() == OpKind::Lstm ? 4 : op->kind() == OpKind::Gru ? 3 : 1;
  sizes.hidden = (*w_shape)[1] / sizes.gates;
  if (sizes.time < 1 || sizes.time > kMaxSteps || !fits_table(sizes.batch, sizes.hidden))
    return false;
  Replacement p(r, op);
  Tensor* x = attrs.batch_first ? p.transpose(op->input(kX), {1, 0, 2}) : op->input(kX);
  std::vector<Tensor*> sequences, last, cells;
  for (int64_t d = 0; d < (both ? 2 : 1) && p.ok(); ++d) {
    Layer layer(p, op, sizes, d);
    std::vector<Tensor*> states = layer.run(x, d == 1 || attrs.direction == Direction::Reverse);
    if (!p.ok()) break;
    for (Tensor*& state : states) state = p.sized(state, {1, 1, sizes.batch, sizes.hidden});
    sequences.push_back(p.concat(std::move(states), 0));  // [time, 1, batch, hidden]
    last.push_back(p.sized(layer.last(), {1, sizes.batch, sizes.hidden}));
    if (layer.cell() != nullptr)
      cells.push_back(p.sized(layer.cell(), {1, sizes.batch, sizes.hidden}));
  }
  if (!p.ok()) return p.replace(nullptr);
  std::vector<Tensor*> results{p.concat(std::move(sequences), 1), p.concat(std::move(last), 0)};
  if (!cells.empty()) results.push_back(p.concat(std::move(cells), 0));
  if (attrs.batch_first) {
    results[0] = p.transpose(results[0], {2, 0, 1, 3});
    for (size_t i = 1; i < results.size(); ++i) results[i] = p.transpose(results[i], {1, 0, 2});
  }
  results.resize(op->outputs().size());
  return p.replace_all(results);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Lstm, unroll, "recurrent layers"},
    {OpKind::Gru, unroll, "recurrent layers"},
    {OpKind::Rnn, unroll, "recurrent layers"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteRecurrent = kRules;

}  // namespace ec::passes
