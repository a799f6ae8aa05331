// What convolutions and matrix products on integers share: sums as 16-bit products, the stage that
// turns a sum into a stored result, and the quantisation of float rows for integer weights.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/attrs.h"
#include "ops/quantized/params.h"

namespace ec::quantized {

// Stored values that the activation leaves: bounds are quantised like any number. Nothing for
// activations without an integer form.
std::optional<Range> activation_range(Activation activation, float alpha, float beta,
                                      const Params& out, DType dtype);
// The same on floats.
struct FloatRange {
  float low, high;
};
Result<FloatRange> float_activation_range(const KernelContext& ctx, Activation activation,
                                          float alpha, float beta);

// Elements less their zero point.
std::vector<int16_t> centred(const ConstView& view, int32_t zero_point);

// Sum of products, wrapping as two's complement.
template <class Acc>
Acc dot(const int16_t* a, const int16_t* b, int64_t count) {
  std::make_unsigned_t<Acc> sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<std::make_unsigned_t<Acc>>(static_cast<Acc>(int32_t{a[i]} * b[i]));
  return static_cast<Acc>(sum);
}

// sum -> stored result: times input scale x weight scale / output scale, plus the zero point,
// clamped to the activation's range.
struct OutputStage {
  std::vector<Multiplier> factors;  // one, or one per channel
  std::vector<double> reals;  // the same as real factors, where TFLite's reference rounds those
  std::vector<int64_t> bias;  // one per channel, or none
  int32_t zero_point = 0;
  Range range{};
  bool wide = false;  // 64-bit sums

  int64_t start(size_t channel) const { return bias.empty() ? 0 : bias[channel]; }
  int32_t finish(int64_t sum, size_t channel) const {
    if (!reals.empty()) {
      const double real = reals[reals.size() == 1 ? 0 : channel];
      const int64_t value = wide ? sum : int64_t{static_cast<int32_t>(sum)};
      return range.clamp(int64_t{round_to_int32(static_cast<double>(value) * real)} + zero_point);
    }
    const Multiplier m = factors[factors.size() == 1 ? 0 : channel];
    const int32_t scaled = wide ? multiply_wide(sum, m) : multiply(static_cast<int32_t>(sum), m);
    return range.clamp(static_cast<int64_t>(scaled) + zero_point);
  }
};

// Operands x (0), weights (1) and bias (2) of the context; `axis` is the weights' channel axis.
struct StageRequest {
  int32_t axis = 0;
  int64_t channels = 0;
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  // How a matrix product rounds: TFLite's fully connected layers multiply sums by real numbers, its
  // products of two activations by fixed point ones.
  bool matrix = false, fully_connected = false;
};
// Input scale x weight scale / output scale. TFLite multiplies the first two in float where one
// scale belongs to the whole tensor, in matrix products and in all sums of u8.
double real_factor(double in, double weight, double out, bool in_float);
Result<OutputStage> output_stage(const KernelContext& ctx, const StageRequest& request);
// The zero point of the weights: zero, or one for the whole tensor.
Result<int32_t> weight_zero_point(const KernelContext& ctx, size_t operand);
// Whether x is float and the weights are integers with parameters.
bool is_hybrid(const KernelContext& ctx);

// A run of floats as 8-bit integers with a scale of its own: real = scale * (q - zero_point).
struct QuantizedRow {
  float scale = 1.0f;
  int32_t zero_point = 0;
};
QuantizedRow quantize_symmetric(std::span<const float> row, int16_t* out);
// Here `out` holds q - zero_point.
QuantizedRow quantize_asymmetric(std::span<const float> row, int16_t* out);

}  // namespace ec::quantized
