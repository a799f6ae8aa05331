// Channels of a filter bank: sums, square roots, noise, gain and logarithms in the integers of
// TFLite Micro's signal library; its results are reproduced bit by bit.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ops/define.h"

namespace ec::ops {
namespace {

Status need_list(const InferContext& ctx, size_t i, DType dtype) {
  if (ctx.dtype(i) != dtype)
    return ctx.bad_type("operand " + std::to_string(i) + " should be " +
                        std::string(dtype_name(dtype)) + ", not " + operand_text(ctx, i));
  if (ctx.shape(i) && ctx.shape(i)->rank() != 1)
    return ctx.bad_shape("operand " + std::to_string(i) + " should be a list, not " +
                         operand_text(ctx, i));
  return {};
}

Status need_bits(const InferContext& ctx, int64_t bits, int64_t most, const char* what) {
  if (bits >= 0 && bits <= most) return {};
  return ctx.bad_value(std::string(what) + " is " + std::to_string(bits));
}

int bits_of(uint32_t x) { return 32 - std::countl_zero(x); }

// --- sums ----------------------------------------------------------------------------------------

enum : size_t { kEnergy, kWeights, kUnweights, kFrequencyStarts, kWeightStarts, kWidths };

Status infer_filter_bank(InferContext& ctx) {
  EC_CHECK_OK(need_list(ctx, kEnergy, DType::U32));
  for (size_t i = kWeights; i <= kWidths; ++i) EC_CHECK_OK(need_list(ctx, i, DType::I16));
  const int64_t channels = ctx.attrs<SignalFilterBankAttrs>().num_channels;
  if (channels < 1 || channels > (1 << 20))
    return ctx.bad_value(std::to_string(channels) + " channels");
  ctx.set(0, DType::U64, Shape{Dim(channels)});
  return {};
}

// Every frequency counts in two neighbouring channels: with its weight in one and with what is left
// of it in the next.
Status filter_bank(KernelContext& ctx) {
  const auto energy = ctx.input(kEnergy).as<uint32_t>();
  const auto weights = ctx.input(kWeights).as<int16_t>();
  const auto unweights = ctx.input(kUnweights).as<int16_t>();
  const auto frequencies = ctx.input(kFrequencyStarts).as<int16_t>();
  const auto starts = ctx.input(kWeightStarts).as<int16_t>();
  const auto widths = ctx.input(kWidths).as<int16_t>();
  const auto y = ctx.output(0).as<uint64_t>();
  if (frequencies.size() <= y.size() || starts.size() <= y.size() || widths.size() <= y.size())
    return ctx.fail("a filter bank of " + std::to_string(y.size()) +
                    " channels needs one more start and width");
  uint64_t sum = 0, next = 0;
  for (size_t c = 0; c <= y.size(); ++c) {
    const int64_t f = frequencies[c], w = starts[c], width = widths[c];
    if (width > 0 && (f < 0 || w < 0 || f + width > static_cast<int64_t>(energy.size()) ||
                      w + width > static_cast<int64_t>(weights.size()) ||
                      w + width > static_cast<int64_t>(unweights.size())))
      return ctx.fail("channel " + std::to_string(c) + " reads outside the spectrum or weights");
    for (int64_t j = 0; j < width; ++j) {
      const uint64_t value = energy[static_cast<size_t>(f + j)];
      const auto at = static_cast<size_t>(w + j);
      sum += static_cast<uint64_t>(int64_t{weights[at]}) * value;
      next += static_cast<uint64_t>(int64_t{unweights[at]}) * value;
    }
    if (c > 0) y[c - 1] = sum;  // the first one only starts the second
    sum = next;
    next = 0;
  }
  return {};
}

// --- square root ---------------------------------------------------------------------------------

Status infer_square_root(InferContext& ctx) {
  EC_CHECK_OK(need_list(ctx, 0, DType::U64));
  if (ctx.dtype(1) != DType::I32 || (ctx.shape(1) && ctx.shape(1)->rank() != 0))
    return ctx.bad_type("the bits should be a number of i32, not " + operand_text(ctx, 1));
  ctx.set(0, DType::U32, ctx.shape(0));
  return {};
}

// Rounded to nearest within 16 bits for numbers of 32 bits, else within 32 bits.
uint32_t rounded_root(uint64_t x) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<long double>(x)));
  while (root > 0xFFFFFFFFu || root * root > x) --root;
  while (root < 0xFFFFFFFFu && (root + 1) * (root + 1) <= x) ++root;
  const uint64_t most = x >> 32 == 0 ? 0xFFFFu : 0xFFFFFFFFu;
  return static_cast<uint32_t>(x - root * root > root && root != most ? root + 1 : root);
}

Status square_root(KernelContext& ctx) {
  const auto x = ctx.input(0).as<uint64_t>();
  const auto y = ctx.output(0).as<uint32_t>();
  const int32_t bits = ctx.input(1).as<int32_t>()[0];
  if (bits < 0 || bits > 31) return ctx.fail("a shift by " + std::to_string(bits) + " bits");
  for (size_t i = 0; i < x.size(); ++i) y[i] = rounded_root(x[i]) >> bits;
  return {};
}

// --- noise ---------------------------------------------------------------------------------------

Status infer_spectral_subtraction(InferContext& ctx) {
  const auto& attrs = ctx.attrs<SpectralSubtractionAttrs>();
  EC_CHECK_OK(need_list(ctx, 0, DType::U32));
  EC_CHECK_OK(need_list(ctx, 1, DType::U32));
  EC_CHECK_OK(need_bits(ctx, attrs.smoothing_bits, 31, "smoothing_bits"));
  EC_CHECK_OK(need_bits(ctx, attrs.spectral_subtraction_bits, 31, "spectral_subtraction_bits"));
  ctx.set(0, DType::U32, ctx.shape(0));
  ctx.set(1, DType::U32, ctx.shape(1));
  return {};
}

Status spectral_subtraction(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SpectralSubtractionAttrs>();
  const auto x = ctx.input(0).as<uint32_t>(), before = ctx.input(1).as<uint32_t>();
  const auto y = ctx.output(0).as<uint32_t>(), noise = ctx.output(1).as<uint32_t>();
  if (before.size() != x.size()) return ctx.fail("signal and noise have different lengths");
  const auto bits = static_cast<int>(attrs.spectral_subtraction_bits);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool odd = i % 2 != 0;
    const auto take = static_cast<uint32_t>(odd ? attrs.alternate_smoothing : attrs.smoothing);
    const auto keep = static_cast<uint32_t>(odd ? attrs.alternate_one_minus_smoothing
                                                : attrs.one_minus_smoothing);
    const uint32_t scaled = x[i] << attrs.smoothing_bits;
    noise[i] =
        static_cast<uint32_t>((uint64_t{scaled} * take + uint64_t{before[i]} * keep) >> bits);
    const uint32_t estimate = std::min(noise[i], scaled);
    if (attrs.clamping) noise[i] = estimate;
    const auto least = static_cast<uint32_t>(
        (uint64_t{x[i]} * static_cast<uint32_t>(attrs.min_signal_remaining)) >> bits);
    y[i] = std::max((scaled - estimate) >> attrs.smoothing_bits, least);
  }
  return {};
}

// --- gain ----------------------------------------------------------------------------------------

Status infer_pcan(InferContext& ctx) {
  EC_CHECK_OK(need_list(ctx, 0, DType::U32));
  EC_CHECK_OK(need_list(ctx, 1, DType::U32));
  EC_CHECK_OK(need_list(ctx, 2, DType::I16));
  EC_CHECK_OK(need_bits(ctx, ctx.attrs<SignalPcanAttrs>().snr_shift, 63, "snr_shift"));
  ctx.set(0, DType::U32, ctx.shape(0));
  return {};
}

// A table of parabolas, one for every power of two: value, slope, curvature and a gap; the first
// three entries are the values at 0, 1 and 2.
constexpr size_t kGainEntries = 4 * 32 - 6 + 3;

int16_t gain_at(uint32_t x, std::span<const int16_t> table) {
  if (x <= 2) return table[x];
  const int interval = bits_of(x);
  const auto row = table.subspan(4 * static_cast<size_t>(interval) - 6, 3);
  const uint32_t aligned = interval < 11 ? x << (11 - interval) : x >> (interval - 11);
  const auto fraction = static_cast<int32_t>(aligned & 0x3FF);
  const int64_t slope = ((row[2] * fraction) >> 5) + row[1] * 32;
  const auto sum = static_cast<int32_t>(slope * fraction);
  return static_cast<int16_t>(((int64_t{sum} + (1 << 14)) >> 15) + row[0]);
}

// x^2 / 4 below 2, x - 1 above; 12 fraction bits in, 6 out.
uint32_t shrink(uint32_t x) {
  if (x < (2u << 12)) return (x * x) >> 20;
  return (x >> 6) - (1u << 6);
}

Status pcan(KernelContext& ctx) {
  const auto x = ctx.input(0).as<uint32_t>(), noise = ctx.input(1).as<uint32_t>();
  const auto table = ctx.input(2).as<int16_t>();
  const auto y = ctx.output(0).as<uint32_t>();
  if (noise.size() < x.size()) return ctx.fail("signal and noise have different lengths");
  if (table.size() < kGainEntries)
    return ctx.fail("the gain table has " + std::to_string(table.size()) + " entries, " +
                    std::to_string(kGainEntries) + " are needed");
  const auto shift = static_cast<int>(ctx.attrs<SignalPcanAttrs>().snr_shift);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto gain = static_cast<uint32_t>(int32_t{gain_at(noise[i], table)});
    y[i] = shrink(static_cast<uint32_t>((uint64_t{x[i]} * gain) >> shift));
  }
  return {};
}

// --- logarithm -----------------------------------------------------------------------------------

Status infer_log(InferContext& ctx) {
  EC_CHECK_OK(need_list(ctx, 0, DType::U32));
  EC_CHECK_OK(
      need_bits(ctx, ctx.attrs<SignalLogAttrs>().input_correction_bits, 31, "the correction"));
  ctx.set(0, DType::I16, ctx.shape(0));
  return {};
}

constexpr int kLogBits = 16, kSegmentBits = 7;

// 2^16 (log2(1 + t) - t) at 128 steps of t in [0, 1]; one more for the interpolation at the end.
const std::array<int32_t, (1 << kSegmentBits) + 2>& log_table() {
  static const auto kTable = [] {
    std::array<int32_t, (1 << kSegmentBits) + 2> table{};
    for (int i = 0; i < 1 << kSegmentBits; ++i) {
      const double t = static_cast<double>(i) / (1 << kSegmentBits);
      table[static_cast<size_t>(i)] =
          static_cast<int32_t>(std::lround((1 << kLogBits) * (std::log2(1 + t) - t)));
    }
    return table;
  }();
  return kTable;
}

uint32_t scaled_log(uint32_t x, uint32_t scale) {
  const int whole = bits_of(x) - 1;
  const int64_t rest = int64_t{x} - (int64_t{1} << whole);
  const auto fraction = static_cast<int32_t>(whole < kLogBits ? rest << (kLogBits - whole)
                                                              : rest >> (whole - kLogBits));
  const int32_t segment = fraction >> (kLogBits - kSegmentBits);
  const int32_t low = log_table()[static_cast<size_t>(segment)];
  const int32_t high = log_table()[static_cast<size_t>(segment) + 1];
  const int32_t position = fraction - (segment << (kLogBits - kSegmentBits));
  const int32_t bend = low + (((high - low) * position) >> kLogBits);
  const uint32_t log2 =
      (static_cast<uint32_t>(whole) << kLogBits) + static_cast<uint32_t>(fraction + bend);
  constexpr uint64_t kNaturalLogOfTwo = 45426;  // with 16 fraction bits
  constexpr uint32_t kHalf = 1u << (kLogBits - 1);
  const auto natural = static_cast<uint32_t>((kNaturalLogOfTwo * log2 + kHalf) >> kLogBits);
  return (scale * natural + kHalf) >> kLogBits;
}

Status logarithm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SignalLogAttrs>();
  const auto x = ctx.input(0).as<uint32_t>();
  const auto y = ctx.output(0).as<int16_t>();
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t scaled = x[i] << attrs.input_correction_bits;
    y[i] = 0;
    if (scaled > 1)
      y[i] = static_cast<int16_t>(
          std::min<uint32_t>(scaled_log(scaled, static_cast<uint32_t>(attrs.output_scale)), 32767));
  }
  return {};
}

}  // namespace

constexpr Rule kSignalFilterBankRules[] = {rule::rank("energy", 1),
                                           rule::between("num_channels", 1, 1 << 20)};
EC_OP_DEF(
    SignalFilterBank,
    .signature = "(energy, weights, unweights, frequency_starts, weight_starts, widths) -> y",
    .summary = "Sums of the energy of frequencies, each weighted into two neighbouring channels.",
    .rules = kSignalFilterBankRules, .infer = infer_filter_bank, .reference = filter_bank,
    .layout = LayoutRule::Fixed);
constexpr Rule kSignalSquareRootRules[] = {rule::rank("x", 1), rule::rank("bits", 0)};
EC_OP_DEF(SignalSquareRoot, .signature = "(x, bits) -> y",
          .summary = "The rounded square root of 64-bit numbers, shifted right by the bits.",
          .rules = kSignalSquareRootRules, .infer = infer_square_root, .reference = square_root,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalSpectralSubtractionRules[] = {
    rule::rank("x", 1), rule::rank("noise", 1), rule::between("smoothing_bits", 0, 31),
    rule::between("spectral_subtraction_bits", 0, 31)};
EC_OP_DEF(SignalSpectralSubtraction, .signature = "(x, noise) -> (y, noise)",
          .summary =
              "The signal without its noise, which is a smoothed average of the signal; the new "
              "average is the second result.",
          .rules = kSignalSpectralSubtractionRules, .infer = infer_spectral_subtraction,
          .reference = spectral_subtraction, .layout = LayoutRule::Fixed);
constexpr Rule kSignalPcanRules[] = {rule::rank("x", 1), rule::rank("noise", 1),
                                     rule::rank("gain_table", 1),
                                     rule::between("snr_shift", 0, 63)};
EC_OP_DEF(SignalPcan, .signature = "(x, noise, gain_table) -> y",
          .summary =
              "Per-channel amplitude normalisation: x times a gain looked up by the noise, small "
              "results compressed.",
          .rules = kSignalPcanRules, .infer = infer_pcan, .reference = pcan,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalLogRules[] = {rule::rank("x", 1),
                                    rule::between("input_correction_bits", 0, 31),
                                    rule::at_least("output_scale", 0)};
EC_OP_DEF(SignalLog, .signature = "(x) -> y",
          .summary = "output_scale times the natural logarithm of x << input_correction_bits.",
          .rules = kSignalLogRules, .infer = infer_log, .reference = logarithm,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
