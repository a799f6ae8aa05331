// lstm_sequence: the LSTM of TFLite (LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM) with peepholes,
// projection, layer normalisation and coupled gates.
#include "ops/define.h"
#include "ops/move.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/real.h"
#include "ops/sequence_cell.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- inference ----------------------------------------------------------------------------------

constexpr size_t kRequired[] = {kLstmInput,
                                kLstmInputWeights + kForgetGate,
                                kLstmInputWeights + kCellGate,
                                kLstmInputWeights + kOutputGate,
                                kLstmRecurrentWeights + kForgetGate,
                                kLstmRecurrentWeights + kCellGate,
                                kLstmRecurrentWeights + kOutputGate,
                                kLstmBias + kForgetGate,
                                kLstmBias + kCellGate,
                                kLstmBias + kOutputGate};

Dim dim_of(const InferContext& ctx, size_t operand, size_t axis) {
  if (!ctx.has(operand) || !ctx.shape(operand) || ctx.shape(operand)->rank() <= axis)
    return Dim::unknown();
  return (*ctx.shape(operand))[axis];
}

// The state results have the types of the state operands.
DType state_type(const InferContext& ctx, size_t operand) {
  return ctx.has(operand) ? ctx.dtype(operand) : ctx.dtype(kLstmInput);
}

Status infer_lstm_sequence(InferContext& ctx) {
  for (const size_t i : kRequired)
    if (!ctx.has(i)) return ctx.bad_value("operand " + std::to_string(i) + " is missing");
  const bool quantized = carries_parameters(ctx);
  if (!quantized && !is_float(ctx.dtype(kLstmInput)))
    return ctx.bad_type("input is " + operand_text(ctx, kLstmInput) +
                        "; it must be floating point");
  const bool coupled = !ctx.has(kLstmInputWeights + kInputGate);
  if (coupled != !ctx.has(kLstmRecurrentWeights + kInputGate) ||
      coupled != !ctx.has(kLstmBias + kInputGate))
    return ctx.bad_value("the input gate needs all of its weights and bias, or none");
  const auto& attrs = ctx.attrs<LstmSequenceAttrs>();
  if (attrs.intermediate_zero_points.size() != attrs.intermediate_scales.size())
    return ctx.bad_value("intermediate_scales and intermediate_zero_points differ in length");
  const auto& x = ctx.shape(kLstmInput);
  if (x && x->rank() != 2 && x->rank() != 3)
    return ctx.bad_shape("input needs 2 or 3 dimensions, not " + operand_text(ctx, kLstmInput));
  const bool time_major = attrs.time_major;
  const Dim cells = dim_of(ctx, kLstmInputWeights + kForgetGate, 0);
  const Dim outputs = ctx.has(kLstmProjection) ? dim_of(ctx, kLstmProjection, 0) : cells;
  const size_t batch_axis = x && x->rank() == 3 && time_major ? 1 : 0;
  const Dim batch = dim_of(ctx, kLstmInput, batch_axis);
  std::optional<Shape> y;
  if (x) {
    y = *x;
    (*y)[x->rank() - 1] = outputs;
  }
  ctx.set(0, ctx.dtype(kLstmInput), std::move(y));
  if (ctx.num_outputs() > 1) ctx.set(1, state_type(ctx, kLstmOutputState), Shape{batch, outputs});
  if (ctx.num_outputs() > 2) ctx.set(2, state_type(ctx, kLstmCellState), Shape{batch, cells});
  return {};
}

// --- float kernel -------------------------------------------------------------------------------

class FloatLstm {
 public:
  static Result<FloatLstm> make(KernelContext& ctx) {
    FloatLstm lstm(ctx);
    for (size_t i = 0; i < ctx.num_inputs(); ++i)
      if (ctx.has(i)) {
        EC_TRY(lstm.operands_[i], real_values(ctx, i));
      }
    const size_t batch = static_cast<size_t>(lstm.shape_.sequence.batch);
    lstm.h_ = lstm.state(kLstmOutputState, batch * lstm.outputs());
    lstm.c_ = lstm.state(kLstmCellState, batch * lstm.cells());
    return lstm;
  }

  void run() {
    const SequenceShape& s = shape_.sequence;
    std::vector<float> y(static_cast<size_t>(s.batch * s.steps) * outputs());
    Ticker ticker;
    for (int64_t step = 0; step < s.steps; ++step)
      for (int64_t b = 0; b < s.batch; ++b) {
        if (ticker.tick(static_cast<int64_t>(4 * cells() * (8 + cells() + outputs())))) return;
        const std::span<float> h =
            std::span(h_).subspan(static_cast<size_t>(b) * outputs(), outputs());
        const std::span<float> c = std::span(c_).subspan(static_cast<size_t>(b) * cells(), cells());
        const size_t row = s.row(step, b);
        const auto x = std::span<const float>(operands_[kLstmInput])
                           .subspan(row * static_cast<size_t>(s.in), static_cast<size_t>(s.in));
        advance(x, h, c);
        std::copy(h.begin(), h.end(), y.begin() + static_cast<std::ptrdiff_t>(row * outputs()));
      }
    store<float>(ctx_.output(0), y);
    if (ctx_.num_outputs() > 1) store<float>(ctx_.output(1), h_);
    if (ctx_.num_outputs() > 2) store<float>(ctx_.output(2), c_);
  }

 private:
  explicit FloatLstm(KernelContext& ctx)
      : ctx_(ctx), attrs_(ctx.attrs<LstmSequenceAttrs>()), shape_(ctx), operands_(24) {}

  size_t cells() const { return static_cast<size_t>(shape_.cells); }
  size_t outputs() const { return static_cast<size_t>(shape_.outputs); }
  std::vector<float> state(size_t operand, size_t count) const {
    return ctx_.has(operand) ? operands_[operand] : std::vector<float>(count, 0.0f);
  }

  static void add_product(std::span<const float> matrix, std::span<const float> vector,
                          std::span<float> out) {
    for (size_t r = 0; r < out.size(); ++r) {
      float sum = 0.0f;
      for (size_t k = 0; k < vector.size(); ++k) sum += matrix[r * vector.size() + k] * vector[k];
      out[r] += sum;
    }
  }

  // Mean 0 and standard deviation 1, as TFLite's layer normalisation.
  static void normalize(std::span<float> row) {
    float sum = 0.0f, squares = 0.0f;
    for (const float v : row) sum += v;
    const float mean = sum / static_cast<float>(row.size());
    for (const float v : row) squares += (v - mean) * (v - mean);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(row.size()) + 1e-8f);
    for (float& v : row) v = (v - mean) * scale;
  }

  std::vector<float> gate(size_t which, std::span<const float> x, std::span<const float> h,
                          std::span<const float> c) const {
    const bool norm = ctx_.has(kLstmNorm + which);
    const auto& bias = operands_[kLstmBias + which];
    std::vector<float> sums = norm ? std::vector<float>(cells(), 0.0f) : bias;
    add_product(operands_[kLstmInputWeights + which], x, sums);
    const auto& recurrent = operands_[kLstmRecurrentWeights + which];
    if (attrs_.diagonal_recurrent)
      for (size_t i = 0; i < cells(); ++i) sums[i] += recurrent[i] * h[i];
    else
      add_product(recurrent, h, sums);
    const size_t peephole = kLstmPeephole + (which == kOutputGate ? 2 : which);
    if (which != kCellGate && ctx_.has(peephole))
      for (size_t i = 0; i < cells(); ++i) sums[i] += operands_[peephole][i] * c[i];
    if (norm) {
      normalize(sums);
      for (size_t i = 0; i < cells(); ++i)
        sums[i] = sums[i] * operands_[kLstmNorm + which][i] + bias[i];
    }
    for (float& v : sums) v = which == kCellGate ? activate(attrs_, v) : logistic(v);
    return sums;
  }

  void advance(std::span<const float> x, std::span<float> h, std::span<float> c) const {
    const std::vector<float> forget = gate(kForgetGate, x, h, c), cell = gate(kCellGate, x, h, c);
    const bool coupled = !ctx_.has(kLstmInputWeights + kInputGate);
    const std::vector<float> input = coupled ? std::vector<float>{} : gate(kInputGate, x, h, c);
    for (size_t i = 0; i < cells(); ++i) {
      c[i] = forget[i] * c[i] + (coupled ? 1.0f - forget[i] : input[i]) * cell[i];
      if (attrs_.cell_clip > 0.0f) c[i] = std::clamp(c[i], -attrs_.cell_clip, attrs_.cell_clip);
    }
    std::vector<float> hidden = gate(kOutputGate, x, h, c);
    for (size_t i = 0; i < cells(); ++i) hidden[i] *= activate(attrs_, c[i]);
    if (!ctx_.has(kLstmProjection)) {
      std::copy(hidden.begin(), hidden.end(), h.begin());
      return;
    }
    std::vector<float> out = ctx_.has(kLstmProjectionBias) ? operands_[kLstmProjectionBias]
                                                           : std::vector<float>(outputs(), 0.0f);
    add_product(operands_[kLstmProjection], hidden, out);
    const float clip = attrs_.projection_clip;
    for (size_t i = 0; i < outputs(); ++i)
      h[i] = clip > 0.0f ? std::clamp(out[i], -clip, clip) : out[i];
  }

  KernelContext& ctx_;
  const LstmSequenceAttrs& attrs_;
  LstmShape shape_;
  std::vector<std::vector<float>> operands_;
  std::vector<float> h_, c_;
};

Status lstm_sequence(KernelContext& ctx) {
  EC_CHECK_OK(check_lstm_operands(ctx));
  EC_TRY(FloatLstm lstm, FloatLstm::make(ctx));
  lstm.run();
  return {};
}

}  // namespace

Status check_lstm_operands(const KernelContext& ctx) {
  const auto& attrs = ctx.attrs<LstmSequenceAttrs>();
  const auto expect = [&](size_t i, std::initializer_list<int64_t> sizes) -> Status {
    if (!ctx.has(i) || std::ranges::equal(ctx.input(i).shape, sizes)) return {};
    return ctx.fail("operand " + std::to_string(i) + " is " + Shape::of(ctx.input(i).shape).text() +
                    " where " + Shape::of(std::vector<int64_t>(sizes)).text() + " is needed");
  };
  const size_t first = kLstmInputWeights + kForgetGate;
  if (ctx.input(first).rank() != 2) return ctx.fail("gate weights must be matrices");
  if (ctx.has(kLstmProjection) && ctx.input(kLstmProjection).rank() != 2)
    return ctx.fail("projection weights must be a matrix");
  const LstmShape s(ctx);
  for (size_t gate = 0; gate < 4; ++gate) {
    EC_CHECK_OK(expect(kLstmInputWeights + gate, {s.cells, s.sequence.in}));
    if (attrs.diagonal_recurrent)
      EC_CHECK_OK(expect(kLstmRecurrentWeights + gate, {s.cells}));
    else
      EC_CHECK_OK(expect(kLstmRecurrentWeights + gate, {s.cells, s.outputs}));
    if (gate < 3) EC_CHECK_OK(expect(kLstmPeephole + gate, {s.cells}));
    EC_CHECK_OK(expect(kLstmBias + gate, {s.cells}));
    EC_CHECK_OK(expect(kLstmNorm + gate, {s.cells}));
  }
  if (attrs.diagonal_recurrent && s.outputs != s.cells)
    return ctx.fail("diagonal recurrent weights need as many outputs as cells");
  EC_CHECK_OK(expect(kLstmProjection, {s.outputs, s.cells}));
  EC_CHECK_OK(expect(kLstmProjectionBias, {s.outputs}));
  EC_CHECK_OK(expect(kLstmOutputState, {s.sequence.batch, s.outputs}));
  return expect(kLstmCellState, {s.sequence.batch, s.cells});
}

EC_OP_DEF(
    LstmSequence,
    .signature =
        "(x, input_to_input?, input_to_forget?, input_to_cell?, input_to_output?, "
        "recurrent_to_input?, recurrent_to_forget?, recurrent_to_cell?, recurrent_to_output?, "
        "cell_to_input?, cell_to_forget?, cell_to_output?, input_bias?, forget_bias?, "
        "cell_bias?, output_bias?, projection?, projection_bias?, output_state?, cell_state?, "
        "input_norm?, forget_norm?, cell_norm?, output_norm?) -> (y, output_state?, "
        "cell_state?)",
    .summary =
        "LSTM over a sequence with one weight matrix per gate (input, forget, cell, output); "
        "peepholes, projection, layer normalisation and coupled input and forget gates are "
        "optional. The states after the last step are results.",
    .infer = infer_lstm_sequence, .reference = lstm_sequence, .quantized = quantized::lstm_sequence,
    .layout = LayoutRule::Fixed);

}  // namespace ec::ops
