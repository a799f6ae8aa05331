#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

// Sums below this bound round without overflow.
constexpr int64_t kLargestSum = int64_t{1} << 30;

}  // namespace

bool all_bytes(const OpInstance& op) {
  const DType dtype = op.input(0).dtype;
  return (dtype == DType::I8 || dtype == DType::U8) && op.input(1).dtype == dtype &&
         op.output().dtype == dtype;
}

bool is_byte(int32_t zero_point, DType dtype) {
  const int64_t signed_one = int64_t{zero_point} - offset_of(dtype);
  return signed_one >= -128 && signed_one <= 127;
}

std::optional<Params> params_of(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->type().quant) return std::nullopt;
  const QuantParams& q = *tensor->type().quant;
  if (q.scales.size() != 1 || q.zero_points.size() != 1 || !(q.scales[0] > 0.0F))
    return std::nullopt;
  return Params{double{q.scales[0]}, q.zero_points[0]};
}

void turn_highest_bits(int8_t* bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) bytes[i] = static_cast<int8_t>(bytes[i] ^ -128);
}

std::optional<Weights> weights_of(const OpInstance& op, int64_t columns, int64_t taps,
                                  int64_t depth) {
  const auto& q = op.op.input(1)->type().quant;
  const DType dtype = op.input(1).dtype;
  if (!q) return std::nullopt;
  const int32_t zero_point = q->zero_points.empty() ? 0 : q->zero_points[0];
  for (const int32_t other : q->zero_points)
    if (other != zero_point) return std::nullopt;
  // Signed weights are symmetric.
  if (!is_byte(zero_point, dtype) || (dtype == DType::I8 && zero_point != 0)) return std::nullopt;
  const auto* bytes = reinterpret_cast<const int8_t*>(op.input(1).constant);
  Weights w{
      {bytes, bytes + columns * taps * depth}, columns, taps, depth, zero_point - offset_of(dtype)};
  if (dtype == DType::U8) turn_highest_bits(w.data.data(), columns * taps * depth);
  return w;
}

std::optional<Stage> weighted_stage(const OpInstance& op, const Weights& w, int32_t shift,
                                    const Output& output) {
  const auto in = params_of(op.op.input(0)), out = params_of(op.op.output(0));
  const auto& q = op.op.input(1)->type().quant;
  const DType dtype = op.input(0).dtype;
  if (!in || !out || !q || !is_byte(in->zero_point, dtype)) return std::nullopt;
  const bool per_channel = q->scales.size() > 1;
  if (q->scales.empty() ||
      (per_channel && (q->axis != 0 || static_cast<int64_t>(q->scales.size()) != w.columns)))
    return std::nullopt;
  auto range =
      quantized::activation_range(output.activation, output.alpha, output.beta, *out, dtype);
  if (!range) return std::nullopt;
  const int32_t offset = offset_of(dtype);
  range->low -= offset;
  range->high -= offset;
  const bool has_bias = op.has(2);
  if (has_bias && (op.input(2).constant == nullptr || op.input(2).dtype != DType::I32 ||
                   op.input(2).count() != w.columns))
    return std::nullopt;
  const auto* bias = has_bias ? reinterpret_cast<const int32_t*>(op.input(2).constant) : nullptr;
  Stage stage(static_cast<size_t>(w.columns));
  for (int64_t c = 0; c < w.columns; ++c) {
    const auto column = static_cast<size_t>(c);
    const double scale = double{q->scales[per_channel ? column : 0]};
    const double real =
        quantized::real_factor(in->scale, scale, out->scale, !per_channel && dtype == DType::U8);
    if (!stage.set_factor(column, quantized::quantize_multiplier(real))) return std::nullopt;
    const int64_t start =
        (bias != nullptr ? bias[c] : 0) - (in->zero_point - offset + shift) * w.sum(c);
    if (std::abs(start) + w.taps * w.depth * 255 * 256 >= kLargestSum) return std::nullopt;
    stage.set_bias(column, static_cast<int32_t>(start));
  }
  stage.set_output(out->zero_point - offset, *range);
  return stage;
}

}  // namespace ec::prepare
