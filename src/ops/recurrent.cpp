// Recurrent layers: lstm, gru and the simple rnn, with ONNX's gate orders.
#include <algorithm>

#include "ops/define.h"
#include "ops/recurrent_cell.h"
#include "support/budget.h"
#include "support/rounding.h"
#include "support/strings.h"

namespace ec::ops {
namespace {

enum : size_t { kX, kW, kR, kB, kLens, kH0, kC0, kP };

// --- inference -----------------------------------------------------------------------------------

Status check_attributes(const InferContext& ctx, const RecurrentAttrs& attrs, const Cell& cell) {
  if (attrs.hidden_size < 0 || attrs.hidden_size > (1 << 28))
    return ctx.bad_value("hidden size " + std::to_string(attrs.hidden_size) + " is out of range");
  if (!(attrs.clip >= 0.0f)) return ctx.bad_value("clip should not be negative");
  const size_t count = cell.activations.size() * static_cast<size_t>(num_directions(attrs));
  if (!attrs.activations.empty() && attrs.activations.size() != count)
    return ctx.bad_value(std::to_string(attrs.activations.size()) + " activations given, " +
                         std::to_string(count) + " needed");
  for (const std::string& name : attrs.activations)
    if (find_activation(name) == nullptr)
      return ctx.fail(Code::UnsupportedOpForm, "activation '" + printable(name) + "' is not known");
  return {};
}

// One dimension that several operands speak of.
class SharedDim {
 public:
  explicit SharedDim(const char* name) : name_(name) {}
  Status see(const InferContext& ctx, size_t operand, const Dim& dim) {
    if (!dim_.is_static() && (dim.is_static() || dim_.is_unknown())) {
      dim_ = dim;
    } else if (dim.is_static() && dim != dim_) {
      return ctx.bad_shape(std::string(name_) + " of operand " + std::to_string(operand) + ", " +
                           operand_text(ctx, operand) + ", should be " + dim_.text() + ", not " +
                           dim.text());
    }
    return {};
  }
  const Dim& dim() const { return dim_; }

 private:
  const char* name_;
  Dim dim_ = Dim::unknown();
};

struct Sizes {
  SharedDim time{"length"}, batch{"batch"}, input{"input size"}, hidden{"hidden size"},
      directions{"number of directions"};
};

// dims[i] for every axis of the operand, each divided by its factor.
struct AxisRule {
  SharedDim* dim;
  int64_t factor = 1;
};

Status see_operand(const InferContext& ctx, size_t operand, std::initializer_list<AxisRule> rules) {
  if (!ctx.has(operand)) return {};
  if (operand != kLens && ctx.dtype(operand) != ctx.dtype(kX))
    return ctx.bad_type("operands have different element types: " + operand_text(ctx, kX) +
                        " and " + operand_text(ctx, operand));
  if (!ctx.shape(operand)) return {};
  const Shape& shape = *ctx.shape(operand);
  if (shape.rank() != rules.size())
    return ctx.bad_shape("operand " + std::to_string(operand) + " should have rank " +
                         std::to_string(rules.size()) + ", not " + operand_text(ctx, operand));
  for (size_t i = 0; i < rules.size(); ++i) {
    const AxisRule& rule = rules.begin()[i];
    const Dim& dim = shape[i];
    if (rule.factor == 1) {
      EC_CHECK_OK(rule.dim->see(ctx, operand, dim));
    } else if (dim.is_static()) {
      if (dim.size() % rule.factor != 0)
        return ctx.bad_shape("operand " + std::to_string(operand) + ", " +
                             operand_text(ctx, operand) + ", has no multiple of " +
                             std::to_string(rule.factor) + " rows");
      EC_CHECK_OK(rule.dim->see(ctx, operand, Dim(dim.size() / rule.factor)));
    }
  }
  return {};
}

Status infer_recurrent(InferContext& ctx) {
  const auto& attrs = ctx.attrs<RecurrentAttrs>();
  const Cell cell = cell_of(ctx.op().kind());
  EC_CHECK_OK(check_attributes(ctx, attrs, cell));
  if (!is_float(ctx.dtype(kX)))
    return ctx.bad_type("a float type is needed, not " + operand_text(ctx, kX));
  if (ctx.has(kLens) && !is_integer(ctx.dtype(kLens)))
    return ctx.bad_type("lengths should be integers, not " + operand_text(ctx, kLens));
  Sizes s;
  EC_CHECK_OK(s.directions.see(ctx, kX, Dim(num_directions(attrs))));
  if (attrs.hidden_size > 0) EC_CHECK_OK(s.hidden.see(ctx, kX, Dim(attrs.hidden_size)));
  if (attrs.batch_first)
    EC_CHECK_OK(see_operand(ctx, kX, {{&s.batch}, {&s.time}, {&s.input}}));
  else
    EC_CHECK_OK(see_operand(ctx, kX, {{&s.time}, {&s.batch}, {&s.input}}));
  EC_CHECK_OK(see_operand(ctx, kW, {{&s.directions}, {&s.hidden, cell.gates}, {&s.input}}));
  EC_CHECK_OK(see_operand(ctx, kR, {{&s.directions}, {&s.hidden, cell.gates}, {&s.hidden}}));
  EC_CHECK_OK(see_operand(ctx, kB, {{&s.directions}, {&s.hidden, 2 * cell.gates}}));
  EC_CHECK_OK(see_operand(ctx, kLens, {{&s.batch}}));
  for (const size_t state : {kH0, kC0}) {
    if (attrs.batch_first)
      EC_CHECK_OK(see_operand(ctx, state, {{&s.batch}, {&s.directions}, {&s.hidden}}));
    else
      EC_CHECK_OK(see_operand(ctx, state, {{&s.directions}, {&s.batch}, {&s.hidden}}));
  }
  EC_CHECK_OK(see_operand(ctx, kP, {{&s.directions}, {&s.hidden, 3}}));
  const Dim &t = s.time.dim(), &b = s.batch.dim(), &d = s.directions.dim(), &h = s.hidden.dim();
  ctx.set(0, ctx.dtype(kX), attrs.batch_first ? Shape{b, t, d, h} : Shape{t, d, b, h});
  for (size_t i = 1; i < ctx.num_outputs(); ++i)
    ctx.set(i, ctx.dtype(kX), attrs.batch_first ? Shape{b, d, h} : Shape{d, b, h});
  return {};
}

// --- kernel --------------------------------------------------------------------------------------

struct Geometry {
  int64_t time, batch, input, hidden, directions, gates;
  bool batch_first;

  // Offsets of the vector of one step, and of one state.
  int64_t x_at(int64_t t, int64_t b) const {
    return (batch_first ? b * time + t : t * batch + b) * input;
  }
  int64_t y_at(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * time + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  int64_t state_at(int64_t d, int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
};

// Weights of one direction.
struct Weights {
  const double *w, *r, *b, *p;  // b and p may be null
  std::span<const BoundActivation> f;
};

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The state of one sequence while a direction walks over it.
class Walker {
 public:
  Walker(OpKind kind, const RecurrentAttrs& attrs, const Geometry& g, const Weights& weights)
      : h(static_cast<size_t>(g.hidden), 0.0),
        c(h),
        kind_(kind),
        attrs_(attrs),
        g_(g),
        w_(weights),
        sums_(static_cast<size_t>(g.gates * g.hidden)),
        scratch_(h),
        next_(h) {}

  std::vector<double> h, c;

  void step(const double* x) {
    for (int64_t j = 0; j < g_.gates * g_.hidden; ++j)
      sums_[static_cast<size_t>(j)] = dot(w_.w + j * g_.input, x, g_.input) + bias(j);
    if (kind_ == OpKind::Lstm)
      step_lstm();
    else if (kind_ == OpKind::Gru)
      step_gru();
    else
      step_rnn();
  }

 private:
  double bias(int64_t j) const { return w_.b == nullptr ? 0.0 : w_.b[j]; }
  double recurrent_bias(int64_t j) const {
    return w_.b == nullptr ? 0.0 : w_.b[g_.gates * g_.hidden + j];
  }
  // Input part, recurrent part and both biases of one gate's element.
  double gate(int64_t which, int64_t i, const std::vector<double>& state) const {
    const int64_t j = which * g_.hidden + i;
    return sums_[static_cast<size_t>(j)] + dot(w_.r + j * g_.hidden, state.data(), g_.hidden) +
           recurrent_bias(j);
  }
  double peephole(int64_t which, int64_t i) const {
    return w_.p == nullptr ? 0.0 : w_.p[which * g_.hidden + i];
  }

  void step_rnn() {
    for (int64_t i = 0; i < g_.hidden; ++i) next_[static_cast<size_t>(i)] = w_.f[0](gate(0, i, h));
    h.swap(next_);
  }

  void step_lstm() {
    enum : int64_t { kInput, kOutput, kForget, kCell };
    for (int64_t i = 0; i < g_.hidden; ++i) {
      const auto k = static_cast<size_t>(i);
      const double old = c[k];
      const double in = w_.f[0](gate(kInput, i, h) + peephole(0, i) * old);
      const double forget =
          attrs_.input_forget ? 1.0 - in : w_.f[0](gate(kForget, i, h) + peephole(2, i) * old);
      c[k] = forget * old + in * w_.f[1](gate(kCell, i, h));
      const double out = w_.f[0](gate(kOutput, i, h) + peephole(1, i) * c[k]);
      next_[k] = out * hidden_activation(c[k]);
    }
    h.swap(next_);
  }
  // Clipping is for the gates' sums; the cell passes as it is.
  double hidden_activation(double cell) const {
    return w_.f[2].kind->apply(cell, w_.f[2].alpha, w_.f[2].beta);
  }

  void step_gru() {
    enum : int64_t { kUpdate, kReset, kHidden };
    for (int64_t i = 0; i < g_.hidden; ++i) {
      const auto k = static_cast<size_t>(i);
      scratch_[k] = w_.f[0](gate(kReset, i, h));
      if (!attrs_.linear_before_reset) scratch_[k] *= h[k];
    }
    for (int64_t i = 0; i < g_.hidden; ++i) {
      const auto k = static_cast<size_t>(i);
      const int64_t j = kHidden * g_.hidden + i;
      double sum = 0.0;
      if (attrs_.linear_before_reset)
        sum = sums_[static_cast<size_t>(j)] +
              scratch_[k] * (dot(w_.r + j * g_.hidden, h.data(), g_.hidden) + recurrent_bias(j));
      else
        sum = gate(kHidden, i, scratch_);
      const double update = w_.f[0](gate(kUpdate, i, h));
      next_[k] = (1.0 - update) * w_.f[1](sum) + update * h[k];
    }
    h.swap(next_);
  }

  OpKind kind_;
  const RecurrentAttrs& attrs_;
  const Geometry& g_;
  const Weights& w_;
  std::vector<double> sums_, scratch_, next_;
};

Geometry geometry_of(KernelContext& ctx, const RecurrentAttrs& attrs, const Cell& cell) {
  const auto x = ctx.input(kX).shape;
  Geometry g{};
  g.batch_first = attrs.batch_first;
  g.time = x[attrs.batch_first ? 1 : 0];
  g.batch = x[attrs.batch_first ? 0 : 1];
  g.input = x[2];
  g.hidden = ctx.input(kR).shape[2];
  g.directions = num_directions(attrs);
  g.gates = cell.gates;
  return g;
}

Result<std::vector<int64_t>> sequence_lengths(KernelContext& ctx, const Geometry& g) {
  std::vector<int64_t> lengths(static_cast<size_t>(g.batch), g.time);
  if (!ctx.has(kLens)) return lengths;
  load<int64_t>(ctx.input(kLens), lengths);
  for (const int64_t length : lengths)
    if (length < 0 || length > g.time)
      return ctx.fail("sequence length " + std::to_string(length) + " is outside [0, " +
                      std::to_string(g.time) + "]");
  return lengths;
}

// Operand i as doubles, or empty.
std::vector<double> load_operand(KernelContext& ctx, size_t i) {
  if (!ctx.has(i)) return {};
  std::vector<double> out(static_cast<size_t>(ctx.input(i).count()));
  load<double>(ctx.input(i), out);
  return out;
}

// Numbers as 8 bits hold them, with the scale and zero point that their range gives: the arithmetic
// of ONNX Runtime's dynamic quantisation, in single precision.
void pass_through_8_bits(std::span<double> values) {
  float low = 0.0f, high = 0.0f;
  for (const double v : values) {
    low = std::min(low, static_cast<float>(v));
    high = std::max(high, static_cast<float>(v));
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = round_half_even(std::clamp(-low / scale, 0.0f, 255.0f));
  for (double& v : values) {
    const float stored =
        std::clamp(round_half_even(static_cast<float>(v) / scale) + zero, 0.0f, 255.0f);
    v = static_cast<double>(stored - zero) * static_cast<double>(scale);
  }
}

// The hidden states of all sequences before a step, quantised together; those that ended are zeros.
void quantize_states(std::vector<Walker>& walkers, std::span<const int64_t> lengths, int64_t step) {
  std::vector<double> all;
  for (size_t n = 0; n < walkers.size(); ++n) {
    if (step >= lengths[n]) std::fill(walkers[n].h.begin(), walkers[n].h.end(), 0.0);
    all.insert(all.end(), walkers[n].h.begin(), walkers[n].h.end());
  }
  pass_through_8_bits(all);
  auto at = all.begin();
  for (Walker& walker : walkers) {
    std::copy_n(at, walker.h.size(), walker.h.begin());
    at += static_cast<int64_t>(walker.h.size());
  }
}

Status reference_recurrent(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<RecurrentAttrs>();
  const Cell cell = cell_of(ctx.op().kind());
  const Geometry g = geometry_of(ctx, attrs, cell);
  if (g.hidden == 0 || g.batch == 0) return {};
  EC_TRY(const std::vector<int64_t> lengths, sequence_lengths(ctx, g));
  auto x = load_operand(ctx, kX);
  if (attrs.dynamic_quantize_inputs) pass_through_8_bits(x);
  const auto w = load_operand(ctx, kW), r = load_operand(ctx, kR), b = load_operand(ctx, kB),
             h0 = load_operand(ctx, kH0), c0 = load_operand(ctx, kC0), p = load_operand(ctx, kP);
  const auto activations = bind_activations(attrs, cell);
  const int64_t rows = g.gates * g.hidden;
  // Steps beyond a sequence's length stay zero.
  std::vector<double> y(static_cast<size_t>(ctx.output(0).count()), 0.0);
  std::vector<double> y_h(static_cast<size_t>(g.directions * g.batch * g.hidden)), y_c(y_h);
  for (int64_t d = 0; d < g.directions; ++d) {
    const size_t per_direction = cell.activations.size();
    const Weights weights{
        w.data() + d * rows * g.input, r.data() + d * rows * g.hidden,
        b.empty() ? nullptr : b.data() + d * 2 * rows,
        p.empty() ? nullptr : p.data() + d * 3 * g.hidden,
        std::span(activations).subspan(static_cast<size_t>(d) * per_direction, per_direction)};
    const bool reverse = attrs.direction == Direction::Reverse || d == 1;
    std::vector<Walker> walkers(static_cast<size_t>(g.batch),
                                Walker(ctx.op().kind(), attrs, g, weights));
    for (int64_t n = 0; n < g.batch; ++n) {
      Walker& walker = walkers[static_cast<size_t>(n)];
      if (!h0.empty()) std::copy_n(h0.data() + g.state_at(d, n), g.hidden, walker.h.data());
      if (!c0.empty()) std::copy_n(c0.data() + g.state_at(d, n), g.hidden, walker.c.data());
      std::copy(walker.h.begin(), walker.h.end(), y_h.data() + g.state_at(d, n));
      std::copy(walker.c.begin(), walker.c.end(), y_c.data() + g.state_at(d, n));
    }
    Ticker ticker;
    for (int64_t i = 0; i < g.time; ++i) {
      if (attrs.dynamic_quantize_inputs) quantize_states(walkers, lengths, i);
      for (int64_t n = 0; n < g.batch; ++n) {
        if (ticker.tick(g.gates * g.hidden * (8 + g.input + g.hidden))) return {};
        const int64_t state = g.state_at(d, n), length = lengths[static_cast<size_t>(n)];
        if (i >= length) continue;
        Walker& walker = walkers[static_cast<size_t>(n)];
        const int64_t t = reverse ? length - 1 - i : i;
        walker.step(x.data() + g.x_at(t, n));
        std::copy(walker.h.begin(), walker.h.end(), y.data() + g.y_at(t, d, n));
        std::copy(walker.h.begin(), walker.h.end(), y_h.data() + state);
        std::copy(walker.c.begin(), walker.c.end(), y_c.data() + state);
      }
    }
  }
  store<double>(ctx.output(0), y);
  if (ctx.num_outputs() > 1) store<double>(ctx.output(1), y_h);
  if (ctx.num_outputs() > 2) store<double>(ctx.output(2), y_c);
  return {};
}

}  // namespace

constexpr Rule kLstmRules[] = {rule::floats("x"),
                               rule::rank("x", 3),
                               rule::rank("w", 3),
                               rule::rank("r", 3),
                               rule::rank("b", 2),
                               rule::integers("sequence_lens"),
                               rule::rank("sequence_lens", 1),
                               rule::rank("initial_h", 3),
                               rule::between("hidden_size", 0, 1 << 28),
                               rule::rank("initial_c", 3),
                               rule::rank("p", 2)};
EC_OP_DEF(
    Lstm,
    .signature = "(x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?) -> (y, y_h?, y_c?)",
    .summary =
        "Long short-term memory over a sequence; gates in the order input, output, forget, cell; "
        "optional peepholes.",
    .rules = kLstmRules, .infer = infer_recurrent, .reference = reference_recurrent,
    .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kGruRules[] = {rule::floats("x"),
                              rule::rank("x", 3),
                              rule::rank("w", 3),
                              rule::rank("r", 3),
                              rule::rank("b", 2),
                              rule::integers("sequence_lens"),
                              rule::rank("sequence_lens", 1),
                              rule::rank("initial_h", 3),
                              rule::between("hidden_size", 0, 1 << 28)};
EC_OP_DEF(
    Gru, .signature = "(x, w, r, b?, sequence_lens?, initial_h?) -> (y, y_h?)",
    .summary = "Gated recurrent unit over a sequence; gates in the order update, reset, hidden.",
    .rules = kGruRules, .infer = infer_recurrent, .reference = reference_recurrent,
    .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
EC_OP_DEF(Rnn, .signature = "(x, w, r, b?, sequence_lens?, initial_h?) -> (y, y_h?)",
          .summary = "Simple recurrent layer: h = f(W x + R h + b).", .rules = kGruRules,
          .infer = infer_recurrent, .reference = reference_recurrent, .quant = QuantRule::Never,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
