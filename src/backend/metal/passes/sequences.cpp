// TFLite's recurrent operators on floats, step by step: what they keep from run to run is state of
// the graph beside them, so that here they are formulas of their operands.
#include <algorithm>

#include "backend/metal/passes/rules.h"
#include "ops/sequence_cell.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// Beyond this the program would be mostly copies of the same step.
constexpr int64_t kMostSteps = 256;

bool is_simple(Activation activation) {
  switch (activation) {
    case Activation::None:
    case Activation::Relu:
    case Activation::Tanh:
    case Activation::Sigmoid:
      return true;
    default:
      return false;
  }
}
Tensor* activated(Replacement& p, Tensor* x, Activation activation) {
  switch (activation) {
    case Activation::Relu:
      return p.unary(OpKind::Relu, x);
    case Activation::Tanh:
      return p.unary(OpKind::Tanh, x);
    case Activation::Sigmoid:
      return p.unary(OpKind::Sigmoid, x);
    default:
      return x;
  }
}

// Floats of fixed sizes; weights are constant.
bool fits(const Operation* op, size_t first_weight, size_t end_weight) {
  if (has_quant(op)) return false;
  for (size_t i = 0; i < op->inputs().size(); ++i) {
    const Tensor* operand = op->input(i);
    if (operand == nullptr) continue;
    const bool weight = i >= first_weight && i < end_weight;
    if (operand->dtype() != DType::F32 || !static_shape(operand) ||
        (weight && !is_constant(operand)))
      return false;
  }
  return std::ranges::all_of(op->outputs(),
                             [](const Tensor* t) { return static_shape(t).has_value(); });
}

// The steps of x: [time, batch, in], [batch, time, in] or, for one, [batch, in].
struct Sequence {
  int64_t batch = 0, steps = 1;
  std::optional<int64_t> axis;  // of time

  Sequence(const Tensor* x, bool time_major) {
    const std::vector<int64_t> sizes = *static_shape(x);
    if (sizes.size() == 3) axis = time_major ? 0 : 1;
    batch = sizes[axis == 0 ? 1 : 0];
    if (axis) steps = sizes[static_cast<size_t>(*axis)];
  }
  Tensor* step(Replacement& p, Tensor* whole, int64_t t, int64_t width) const {
    return axis ? p.sized(p.slice(whole, *axis, t, t + 1), {batch, width}) : whole;
  }
  Tensor* joined(Replacement& p, const std::vector<Tensor*>& parts, int64_t width) const {
    if (!axis) return parts.front();
    std::vector<int64_t> sizes{batch, batch, width};
    sizes[static_cast<size_t>(*axis)] = 1;
    std::vector<Tensor*> rows;
    for (Tensor* part : parts) rows.push_back(p.sized(part, sizes));
    return rows.size() == 1 ? rows.front() : p.concat(std::move(rows), *axis);
  }
};

Tensor* product(Replacement& p, Tensor* x, Tensor* weights) {
  return p.op(OpKind::MatMul, {x, weights}, MatMulAttrs{.transpose_b = true});
}
Tensor* zeros(Replacement& p, int64_t rows, int64_t width) {
  return p.floats(Shape{rows, width}, std::vector<float>(static_cast<size_t>(rows * width), 0));
}

// --- lstm_sequence -------------------------------------------------------------------------------

using namespace ops;

class LstmSteps {
 public:
  LstmSteps(Replacement& p, const Operation* op)
      : p_(p),
        op_(op),
        attrs_(op->attrs_as<LstmSequenceAttrs>()),
        sequence_(op->input(kLstmInput), attrs_.time_major),
        cells_((*static_shape(op->input(kLstmInputWeights + kForgetGate)))[0]),
        outputs_(has(kLstmProjection) ? (*static_shape(op->input(kLstmProjection)))[0] : cells_) {}

  bool fits() const {
    return sequence_.steps <= kMostSteps && is_simple(attrs_.activation) &&
           !attrs_.diagonal_recurrent && fits_table(sequence_.batch, std::max(cells_, outputs_));
  }

  Result<bool> replace() {
    choose_gates();
    Tensor* inputs = product(p_, op_->input(kLstmInput), stacked(kLstmInputWeights));
    Tensor* recurrent = stacked(kLstmRecurrentWeights);
    h_ =
        has(kLstmOutputState) ? op_->input(kLstmOutputState) : zeros(p_, sequence_.batch, outputs_);
    c_ = has(kLstmCellState) ? op_->input(kLstmCellState) : zeros(p_, sequence_.batch, cells_);
    std::vector<Tensor*> states;
    for (int64_t t = 0; t < sequence_.steps && p_.ok(); ++t) {
      Tensor* own = sequence_.step(p_, inputs, t, static_cast<int64_t>(gates_.size()) * cells_);
      advance(p_.add(own, product(p_, h_, recurrent)));
      states.push_back(h_);
    }
    if (!p_.ok()) return p_.replace(nullptr);
    std::vector<Tensor*> results{sequence_.joined(p_, states, outputs_), h_, c_};
    results.resize(op_->outputs().size());
    return p_.replace_all(results);
  }

 private:
  bool has(size_t i) const { return op_->input(i) != nullptr; }
  // Without an input gate its values are what the forget gate leaves.
  void choose_gates() {
    for (size_t gate = 0; gate < 4; ++gate)
      if (has(kLstmInputWeights + gate)) gates_.push_back(gate);
  }

  // The matrices of all gates in one.
  Tensor* stacked(size_t first) {
    std::vector<float> all;
    for (const size_t gate : gates_) {
      const auto values = op_->input(first + gate)->values<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    const int64_t rows = static_cast<int64_t>(gates_.size()) * cells_;
    return p_.floats(Shape{rows, static_cast<int64_t>(all.size()) / rows}, all);
  }

  Tensor* gate(size_t which, Tensor* sums) {
    const auto at = std::ranges::find(gates_, which) - gates_.begin();
    Tensor* sum = p_.slice(sums, 1, at * cells_, (at + 1) * cells_);
    const size_t peephole = kLstmPeephole + (which == kOutputGate ? 2 : which);
    if (which != kCellGate && has(peephole)) sum = p_.add(sum, p_.mul(c_, op_->input(peephole)));
    Tensor* bias = op_->input(kLstmBias + which);
    if (has(kLstmNorm + which))
      sum = p_.op(OpKind::LayerNorm, {sum, op_->input(kLstmNorm + which), bias},
                  LayerNormAttrs{.axis = 1, .epsilon = 1e-8f});
    else
      sum = p_.add(sum, bias);
    return activated(p_, sum, which == kCellGate ? attrs_.activation : Activation::Sigmoid);
  }

  Tensor* clipped(Tensor* x, float limit) {
    return limit > 0 ? p_.min(p_.max(x, -double{limit}), double{limit}) : x;
  }

  void advance(Tensor* sums) {
    Tensor* forget = gate(kForgetGate, sums);
    Tensor* cell = gate(kCellGate, sums);
    Tensor* input = has(kLstmInputWeights + kInputGate) ? gate(kInputGate, sums)
                                                        : p_.sub(p_.number(forget, 1), forget);
    Tensor* kept = p_.mul(forget, c_);
    c_ = clipped(p_.add(kept, p_.mul(input, cell)), attrs_.cell_clip);
    Tensor* output = gate(kOutputGate, sums);
    h_ = p_.mul(output, activated(p_, c_, attrs_.activation));
    if (!has(kLstmProjection)) return;
    h_ = product(p_, h_, op_->input(kLstmProjection));
    if (has(kLstmProjectionBias)) h_ = p_.add(h_, op_->input(kLstmProjectionBias));
    h_ = clipped(h_, attrs_.projection_clip);
  }

  Replacement& p_;
  const Operation* op_;
  const LstmSequenceAttrs& attrs_;
  const Sequence sequence_;
  const int64_t cells_, outputs_;
  std::vector<size_t> gates_;
  Tensor *h_ = nullptr, *c_ = nullptr;
};

Result<bool> unroll_lstm(Rewriter& r, Operation* op) {
  if (!fits(op, kLstmInputWeights, kLstmOutputState) || !fits(op, kLstmNorm, op->inputs().size()))
    return false;
  Replacement p(r, op);
  LstmSteps steps(p, op);
  return steps.fits() ? steps.replace() : Result<bool>(false);
}

// --- rnn_sequence and svdf -----------------------------------------------------------------------

Result<bool> unroll_rnn(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<RnnSequenceAttrs>();
  if (!fits(op, kRnnWeights, kRnnState) || !is_simple(attrs.activation)) return false;
  const Sequence sequence(op->input(kRnnInput), attrs.time_major);
  if (sequence.steps > kMostSteps) return false;
  const int64_t units = (*static_shape(op->input(kRnnWeights)))[0];
  if (!fits_table(sequence.batch, units)) return false;
  Replacement p(r, op);
  Tensor* inputs = product(p, op->input(kRnnInput), op->input(kRnnWeights));
  if (op->input(kRnnBias) != nullptr) inputs = p.add(inputs, op->input(kRnnBias));
  Tensor* h =
      op->input(kRnnState) != nullptr ? op->input(kRnnState) : zeros(p, sequence.batch, units);
  std::vector<Tensor*> states;
  for (int64_t t = 0; t < sequence.steps && p.ok(); ++t) {
    Tensor* own = sequence.step(p, inputs, t, units);
    h = activated(p, p.add(own, product(p, h, op->input(kRnnRecurrent))), attrs.activation);
    states.push_back(h);
  }
  if (!p.ok()) return p.replace(nullptr);
  std::vector<Tensor*> results{sequence.joined(p, states, units), h};
  results.resize(op->outputs().size());
  return p.replace_all(results);
}

// The state holds the last feature products of each filter, the newest at the end.
Result<bool> expand_svdf(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<SvdfAttrs>();
  if (!fits(op, kSvdfFeature, kSvdfState) || !is_simple(attrs.activation)) return false;
  const int64_t batch = (*static_shape(op->input(kSvdfInput)))[0];
  const std::vector<int64_t> time = *static_shape(op->input(kSvdfTime));
  const int64_t filters = time[0], memory = time[1];
  if (!fits_table(batch, filters * memory)) return false;
  Replacement p(r, op);
  Tensor* newest =
      p.sized(product(p, op->input(kSvdfInput), op->input(kSvdfFeature)), {batch, filters, 1});
  Tensor* past = op->input(kSvdfState) != nullptr
                     ? p.sized(op->input(kSvdfState), {batch, filters, memory})
                     : p.sized(zeros(p, batch, filters * memory), {batch, filters, memory});
  Tensor* all = memory > 1 ? p.concat({p.slice(past, 2, 1, memory), newest}, 2) : newest;
  Tensor* sums = p.reduce(OpKind::ReduceSum, p.mul(all, op->input(kSvdfTime)), {2}, false);
  if (attrs.rank > 1)
    sums = p.reduce(OpKind::ReduceSum, p.sized(sums, {batch, filters / attrs.rank, attrs.rank}),
                    {2}, false);
  if (op->input(kSvdfBias) != nullptr) sums = p.add(sums, op->input(kSvdfBias));
  std::vector<Tensor*> results{activated(p, sums, attrs.activation)};
  if (op->outputs().size() > 1) results.push_back(p.sized(all, {batch, filters * memory}));
  return p.replace_all(results);
}

constexpr RewriteRule kRules[] = {
    {OpKind::LstmSequence, unroll_lstm, "recurrent layers"},
    {OpKind::RnnSequence, unroll_rnn, "recurrent layers"},
    {OpKind::Svdf, expand_svdf, "recurrent layers"},
};

}  // namespace

const std::span<const RewriteRule> kMilSequences = kRules;

}  // namespace ec::passes
