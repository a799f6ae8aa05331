// lstm_sequence with 8-bit activations and a 16-bit cell state, and svdf with a 16-bit state.
#include "ops/convert.h"
#include "ops/quantized/gemmlowp.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/params.h"
#include "ops/sequence_cell.h"
#include "support/budget.h"

namespace ec::quantized {
namespace {

using ops::kCellGate;
using ops::kForgetGate;
using ops::kInputGate;
using ops::kLstmBias;
using ops::kLstmCellState;
using ops::kLstmInput;
using ops::kLstmInputWeights;
using ops::kLstmNorm;
using ops::kLstmOutputState;
using ops::kLstmPeephole;
using ops::kLstmProjection;
using ops::kLstmProjectionBias;
using ops::kLstmRecurrentWeights;
using ops::kOutputGate;

int32_t wrapped(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }

Status expect_type(const KernelContext& ctx, size_t i, DType dtype) {
  if (!ctx.has(i) || ctx.input(i).dtype == dtype) return {};
  return ctx.fail("operand " + std::to_string(i) + " is " +
                  std::string(dtype_name(ctx.input(i).dtype)) + " where " +
                  std::string(dtype_name(dtype)) + " is needed");
}

// Rows of weights times a vector; the zero point of the vector is in the bias.
struct Matrix {
  std::span<const int8_t> weights;
  std::vector<int32_t> bias;
  Multiplier factor;

  int32_t row(size_t r, std::span<const int8_t> x) const {
    int64_t sum = bias[r];
    for (size_t k = 0; k < x.size(); ++k) sum += weights[r * x.size() + k] * x[k];
    return multiply(wrapped(sum), factor);
  }
};

Matrix matrix_of(const KernelContext& ctx, size_t operand, size_t bias, int32_t zero_point,
                 float scale) {
  const auto weights = ctx.input(operand).as<int8_t>();
  const auto rows = static_cast<size_t>(ctx.input(operand).shape[0]);
  const size_t columns = rows == 0 ? 0 : weights.size() / rows;
  Matrix m{weights, std::vector<int32_t>(rows, 0), quantize_multiplier(double{scale})};
  for (size_t r = 0; r < rows; ++r) {
    int64_t sum = ctx.has(bias) ? ctx.input(bias).as<int32_t>()[r] : 0;
    for (size_t k = 0; k < columns; ++k) sum += int64_t{zero_point} * weights[r * columns + k];
    m.bias[r] = wrapped(sum);
  }
  return m;
}

constexpr size_t kNoBias = SIZE_MAX;

struct Gate {
  Matrix input, recurrent;
  std::span<const int16_t> peephole, norm;
  std::span<const int32_t> norm_bias;
  Multiplier peephole_factor, norm_factor;
  int32_t variance_guard = 1;
};

class IntegerLstm {
 public:
  explicit IntegerLstm(KernelContext& ctx)
      : ctx_(ctx), attrs_(ctx.attrs<LstmSequenceAttrs>()), shape_(ctx) {}

  Status prepare() {
    EC_CHECK_OK(check_types());
    EC_TRY(const Params in, input_params(ctx_, kLstmInput));
    EC_TRY(const Params state, input_params(ctx_, kLstmOutputState));
    EC_TRY(const Params cell, input_params(ctx_, kLstmCellState));
    int exponent = 0;
    if (std::frexp(cell.scale, &exponent) != 0.5 || exponent - 1 < -15 || exponent - 1 > -9)
      return ctx_.fail("the cell state needs a scale that is a power of two from 2^-15 to 2^-9");
    cell_exponent_ = exponent - 1;
    if (attrs_.intermediate_scales.size() != 5 || attrs_.intermediate_zero_points.size() != 5)
      return ctx_.fail("the parameters of the five intermediate tensors are needed");
    for (size_t g = 0; g < 4; ++g)
      if (ctx_.has(kLstmInputWeights + g)) EC_CHECK_OK(prepare_gate(g, in, state));
    return prepare_output(state, cell);
  }

  void run() {
    const ops::SequenceShape& s = shape_.sequence;
    const auto in = static_cast<size_t>(s.in), outputs = static_cast<size_t>(shape_.outputs),
               cells = static_cast<size_t>(shape_.cells);
    const auto x = ctx_.input(kLstmInput).as<int8_t>();
    const auto y = ctx_.output(0).as<int8_t>();
    const auto h0 = ctx_.input(kLstmOutputState).as<int8_t>();
    const auto c0 = ctx_.input(kLstmCellState).as<int16_t>();
    std::vector<int8_t> h(h0.begin(), h0.end());
    std::vector<int16_t> c(c0.begin(), c0.end());
    Ticker ticker;
    for (int64_t step = 0; step < s.steps; ++step)
      for (int64_t b = 0; b < s.batch; ++b) {
        if (ticker.tick(static_cast<int64_t>(4 * cells * (8 + cells + outputs)))) return;
        const auto own_h = std::span(h).subspan(static_cast<size_t>(b) * outputs, outputs);
        const auto own_c = std::span(c).subspan(static_cast<size_t>(b) * cells, cells);
        const size_t row = s.row(step, b);
        advance(x.subspan(row * in, in), own_h, own_c);
        std::copy(own_h.begin(), own_h.end(),
                  y.begin() + static_cast<std::ptrdiff_t>(row * outputs));
      }
    if (ctx_.num_outputs() > 1) std::copy(h.begin(), h.end(), ctx_.output(1).as<int8_t>().begin());
    if (ctx_.num_outputs() > 2) std::copy(c.begin(), c.end(), ctx_.output(2).as<int16_t>().begin());
  }

 private:
  Status check_types() const {
    if (!ctx_.has(kLstmOutputState) || !ctx_.has(kLstmCellState))
      return ctx_.fail("integer cells need both states as operands");
    if (attrs_.diagonal_recurrent) return ctx_.fail("diagonal weights have no integer form");
    if (attrs_.activation != Activation::Tanh)
      return ctx_.fail("only the cell activation tanh has an integer form");
    EC_CHECK_OK(expect_type(ctx_, kLstmInput, DType::I8));
    for (size_t g = 0; g < 4; ++g) {
      EC_CHECK_OK(expect_type(ctx_, kLstmInputWeights + g, DType::I8));
      EC_CHECK_OK(expect_type(ctx_, kLstmRecurrentWeights + g, DType::I8));
      EC_CHECK_OK(expect_type(ctx_, kLstmBias + g, DType::I32));
      EC_CHECK_OK(expect_type(ctx_, kLstmNorm + g, DType::I16));
      if (g < 3) EC_CHECK_OK(expect_type(ctx_, kLstmPeephole + g, DType::I16));
    }
    EC_CHECK_OK(expect_type(ctx_, kLstmProjection, DType::I8));
    EC_CHECK_OK(expect_type(ctx_, kLstmProjectionBias, DType::I32));
    EC_CHECK_OK(expect_type(ctx_, kLstmOutputState, DType::I8));
    return expect_type(ctx_, kLstmCellState, DType::I16);
  }

  Result<float> scale_of(size_t operand) const {
    EC_TRY(const Params p, input_params(ctx_, operand));
    return static_cast<float>(p.scale);
  }

  Status prepare_gate(size_t g, const Params& in, const Params& state) {
    Gate& gate = gates_[g];
    const bool norm = ctx_.has(kLstmNorm + g);
    const float scale = norm ? attrs_.intermediate_scales[g] : std::ldexp(1.0f, -12);
    EC_TRY(const float w, scale_of(kLstmInputWeights + g));
    EC_TRY(const float r, scale_of(kLstmRecurrentWeights + g));
    gate.input = matrix_of(ctx_, kLstmInputWeights + g, norm ? kNoBias : kLstmBias + g,
                           -in.zero_point, w * static_cast<float>(in.scale) / scale);
    gate.recurrent = matrix_of(ctx_, kLstmRecurrentWeights + g, kNoBias, -state.zero_point,
                               r * static_cast<float>(state.scale) / scale);
    const size_t peephole = kLstmPeephole + (g == kOutputGate ? 2 : g);
    if (g != kCellGate && ctx_.has(peephole)) {
      EC_TRY(const float p, scale_of(peephole));
      const auto factor =
          static_cast<float>(std::ldexp(1.0, cell_exponent_) * double{p} / double{scale});
      gate.peephole = ctx_.input(peephole).as<int16_t>();
      gate.peephole_factor = quantize_multiplier(double{factor});
    }
    if (!norm) return {};
    EC_TRY(const float n, scale_of(kLstmNorm + g));
    gate.norm = ctx_.input(kLstmNorm + g).as<int16_t>();
    gate.norm_bias = ctx_.input(kLstmBias + g).as<int32_t>();
    gate.norm_factor = quantize_multiplier(double{n});
    gate.variance_guard = std::max(1, round_to_int32(std::trunc(double{10000 * n})));
    return {};
  }

  Status prepare_output(const Params& state, const Params& cell) {
    const float hidden = attrs_.intermediate_scales[4];
    hidden_zero_ = static_cast<int32_t>(attrs_.intermediate_zero_points[4]);
    hidden_factor_ = quantize_multiplier(
        double{static_cast<float>(std::ldexp(1.0, -15) / double{hidden} * std::ldexp(1.0, -15))});
    if (attrs_.cell_clip > 0.0f)
      cell_clip_ = static_cast<int16_t>(
          std::min(attrs_.cell_clip / static_cast<float>(cell.scale), 32767.0f));
    if (!ctx_.has(kLstmProjection)) return {};
    EC_TRY(const float p, scale_of(kLstmProjection));
    projection_ = matrix_of(ctx_, kLstmProjection, kLstmProjectionBias, hidden_zero_,
                            p * hidden / static_cast<float>(state.scale));
    state_zero_ = state.zero_point;
    EC_TRY(const Params out, output_params(ctx_));
    if (attrs_.projection_clip > 0.0f)
      projection_clip_ = static_cast<int8_t>(
          std::min(attrs_.projection_clip / static_cast<float>(out.scale), 127.0f));
    return {};
  }

  std::vector<int16_t> values_of(size_t g, std::span<const int8_t> x, std::span<const int8_t> h,
                                 std::span<const int16_t> c) const {
    const Gate& gate = gates_[g];
    std::vector<int16_t> out(static_cast<size_t>(shape_.cells));
    for (size_t i = 0; i < out.size(); ++i) {
      int16_t v = saturate<int16_t>(gate.input.row(i, x));
      v = saturate<int16_t>(int64_t{gate.recurrent.row(i, h)} + v);
      if (!gate.peephole.empty())
        v = saturate<int16_t>(
            int64_t{multiply(int32_t{gate.peephole[i]} * c[i], gate.peephole_factor)} + v);
      out[i] = v;
    }
    if (!gate.norm.empty()) normalize(gate, out);
    for (int16_t& v : out) v = g == kCellGate ? tanh16(v, 3) : logistic16(v, 3);
    return out;
  }

  static void normalize(const Gate& gate, std::span<int16_t> row) {
    const auto n = static_cast<int64_t>(row.size());
    int64_t sum = 0, squares = 0;
    for (const int16_t v : row) {
      sum += v;
      squares += int64_t{v} * v;
    }
    const int64_t mean = sum * 1024 / n;
    const int64_t variance = squares * ((1 << 20) / n) - mean * mean;
    int32_t deviation = wrapped(variance / (1 << 20));
    if (deviation < 1) deviation = gate.variance_guard;
    const Multiplier inverse = inverse_sqrt(deviation);
    for (size_t i = 0; i < row.size(); ++i) {
      const int32_t centred = multiply(wrapped(1024 * int64_t{row[i]} - mean), inverse);
      const int64_t value = int64_t{wrapped(int64_t{centred} * gate.norm[i])} + gate.norm_bias[i];
      const int32_t scaled = wrapped((value > 0 ? value + 512 : value - 512) / 1024);
      row[i] = saturate<int16_t>(
          multiply(scaled, {gate.norm_factor.value, gate.norm_factor.shift + 12}));
    }
  }

  static int16_t product(int16_t a, int16_t b, int shift) {
    return static_cast<int16_t>(divide_by_power_of_two(int32_t{a} * b, shift));
  }

  void advance(std::span<const int8_t> x, std::span<int8_t> h, std::span<int16_t> c) const {
    const bool coupled = !ctx_.has(kLstmInputWeights + kInputGate);
    const auto forget = values_of(kForgetGate, x, h, c), cell = values_of(kCellGate, x, h, c);
    const auto input = coupled ? std::vector<int16_t>{} : values_of(kInputGate, x, h, c);
    for (size_t i = 0; i < c.size(); ++i) {
      const int16_t kept = product(forget[i], c[i], 15);
      const int16_t open = coupled ? static_cast<int16_t>(32767 - forget[i]) : input[i];
      c[i] = saturate<int16_t>(int64_t{kept} + product(open, cell[i], 30 + cell_exponent_));
      if (cell_clip_ > 0) c[i] = std::clamp(c[i], static_cast<int16_t>(-cell_clip_), cell_clip_);
    }
    const auto output = values_of(kOutputGate, x, h, c);
    const bool projects = ctx_.has(kLstmProjection);
    std::vector<int8_t> hidden(c.size());
    for (size_t i = 0; i < c.size(); ++i) {
      const int32_t value = int32_t{output[i]} * tanh16(c[i], 15 + cell_exponent_);
      hidden[i] = saturate<int8_t>(int64_t{multiply(value, hidden_factor_)} +
                                   (projects ? -hidden_zero_ : hidden_zero_));
    }
    if (!projects) {
      std::copy(hidden.begin(), hidden.end(), h.begin());
      return;
    }
    for (size_t i = 0; i < h.size(); ++i) {
      h[i] = saturate<int8_t>(int64_t{projection_.row(i, hidden)} + state_zero_);
      if (projection_clip_ > 0)
        h[i] = std::clamp(h[i], static_cast<int8_t>(-projection_clip_), projection_clip_);
    }
  }

  KernelContext& ctx_;
  const LstmSequenceAttrs& attrs_;
  ops::LstmShape shape_;
  Gate gates_[4];
  int cell_exponent_ = 0;
  int16_t cell_clip_ = 0;
  int8_t projection_clip_ = 0;
  Matrix projection_;
  Multiplier hidden_factor_;
  int32_t hidden_zero_ = 0, state_zero_ = 0;
};

}  // namespace

Status lstm_sequence(KernelContext& ctx) {
  if (is_float(ctx.input(kLstmInput).dtype)) return ctx.op().def().reference(ctx);
  EC_CHECK_OK(ops::check_lstm_operands(ctx));
  if (ctx.output(0).count() == 0) return {};
  IntegerLstm lstm(ctx);
  EC_CHECK_OK(lstm.prepare());
  lstm.run();
  return {};
}

namespace {

// The filter with state and time weights in 8 or 16 bits (T). The 8-bit form is TFLite Micro's
// only.
template <class T>
void filter_over_time(KernelContext& ctx, const Params& in, const Params& state, const Params& out,
                      Multiplier first, Multiplier second) {
  const auto x = ctx.input(ops::kSvdfInput).as<int8_t>();
  const auto w = ctx.input(ops::kSvdfFeature).as<int8_t>();
  const auto t = ctx.input(ops::kSvdfTime).as<T>();
  const auto old = ctx.input(ops::kSvdfState).as<T>();
  const auto batch = static_cast<size_t>(ctx.input(ops::kSvdfInput).shape[0]);
  const auto depth = static_cast<size_t>(ctx.input(ops::kSvdfInput).shape[1]);
  const auto filters = static_cast<size_t>(ctx.input(ops::kSvdfTime).shape[0]);
  const auto memory = static_cast<size_t>(ctx.input(ops::kSvdfTime).shape[1]);
  const auto rank = static_cast<size_t>(ctx.attrs<SvdfAttrs>().rank);
  std::vector<T> past(old.begin(), old.end());
  for (size_t b = 0; b < batch; ++b)
    for (size_t u = 0; u < filters / rank; ++u) {
      int64_t sum = ctx.has(ops::kSvdfBias) ? ctx.input(ops::kSvdfBias).as<int32_t>()[u] : 0;
      for (size_t f = u * rank; f < (u + 1) * rank; ++f) {
        int64_t product = 0;
        for (size_t k = 0; k < depth; ++k)
          product += w[f * depth + k] * (x[b * depth + k] - in.zero_point);
        const auto own = std::span(past).subspan((b * filters + f) * memory, memory);
        std::copy(own.begin() + 1, own.end(), own.begin());
        // The zero point comes after the bounds, as in TFLite Micro.
        own.back() =
            static_cast<T>(saturate<T>(multiply(wrapped(product), first)) + state.zero_point);
        for (size_t m = 0; m < memory; ++m)
          sum += int64_t{t[f * memory + m]} * (own[m] - state.zero_point);
      }
      ctx.output(0).as<int8_t>()[b * (filters / rank) + u] =
          saturate<int8_t>(int64_t{multiply(wrapped(sum), second)} + out.zero_point);
    }
  if (ctx.num_outputs() > 1) std::copy(past.begin(), past.end(), ctx.output(1).as<T>().begin());
}

}  // namespace

Status svdf(KernelContext& ctx) {
  if (is_float(ctx.input(ops::kSvdfInput).dtype)) return ctx.op().def().reference(ctx);
  EC_CHECK_OK(ops::check_svdf_operands(ctx));
  if (!ctx.has(ops::kSvdfState)) return ctx.fail("integer filters need the state as an operand");
  const bool is_wide = ctx.input(ops::kSvdfTime).dtype == DType::I16;
  const DType kept = is_wide ? DType::I16 : DType::I8;
  EC_CHECK_OK(expect_type(ctx, ops::kSvdfInput, DType::I8));
  EC_CHECK_OK(expect_type(ctx, ops::kSvdfFeature, DType::I8));
  EC_CHECK_OK(expect_type(ctx, ops::kSvdfTime, kept));
  EC_CHECK_OK(expect_type(ctx, ops::kSvdfBias, DType::I32));
  EC_CHECK_OK(expect_type(ctx, ops::kSvdfState, kept));
  EC_TRY(const Params in, input_params(ctx, ops::kSvdfInput));
  EC_TRY(const Params feature, input_params(ctx, ops::kSvdfFeature));
  EC_TRY(const Params time, input_params(ctx, ops::kSvdfTime));
  EC_TRY(const Params state, input_params(ctx, ops::kSvdfState));
  EC_TRY(const Params out, output_params(ctx));
  const auto as_float = [](double v) { return static_cast<float>(v); };
  const Multiplier first = quantize_multiplier(
      double{as_float(in.scale) * as_float(feature.scale) / as_float(state.scale)});
  const Multiplier second = quantize_multiplier(
      double{as_float(state.scale) * as_float(time.scale) / as_float(out.scale)});
  if (is_wide)
    filter_over_time<int16_t>(ctx, in, state, out, first, second);
  else
    filter_over_time<int8_t>(ctx, in, state, out, first, second);
  return {};
}

}  // namespace ec::quantized
