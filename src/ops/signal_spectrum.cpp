// From samples to the energy of frequencies, in the integers of TFLite Micro's signal library; its
// results are reproduced bit by bit.
#include <algorithm>
#include <bit>
#include <limits>

#include "ops/define.h"
#include "ops/fixed_fourier.h"
#include "ops/fourier.h"

namespace ec::ops {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 24;

Status need_type(const InferContext& ctx, size_t i, DType dtype) {
  if (ctx.dtype(i) == dtype) return {};
  return ctx.bad_type("operand " + std::to_string(i) + " should be " +
                      std::string(dtype_name(dtype)) + ", not " + operand_text(ctx, i));
}

// The shape with another last dimension; of rank 1 or more.
Result<std::optional<Shape>> with_last(const InferContext& ctx, size_t i, Dim last) {
  if (!ctx.shape(i)) return std::optional<Shape>();
  Shape shape = *ctx.shape(i);
  if (shape.rank() == 0) return ctx.bad_shape("a list is needed, not " + operand_text(ctx, i));
  shape[shape.rank() - 1] = std::move(last);
  return std::optional(std::move(shape));
}

// --- window --------------------------------------------------------------------------------------

Status infer_window(InferContext& ctx) {
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  EC_CHECK_OK(need_type(ctx, 1, DType::I16));
  const int64_t shift = ctx.attrs<SignalWindowAttrs>().shift;
  if (shift < 0 || shift > 31) return ctx.bad_value("a shift by " + std::to_string(shift));
  return infer_same_as_first(ctx);
}

Status window(KernelContext& ctx) {
  const auto x = ctx.input(0).as<int16_t>(), w = ctx.input(1).as<int16_t>();
  const auto y = ctx.output(0).as<int16_t>();
  const auto shift = static_cast<int>(ctx.attrs<SignalWindowAttrs>().shift);
  if (x.empty()) return {};
  if (w.empty() || x.size() % w.size() != 0)
    return ctx.fail("a window of " + std::to_string(w.size()) + " weights does not fit " +
                    std::to_string(x.size()) + " samples");
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = static_cast<int16_t>(std::clamp((int32_t{x[i]} * w[i % w.size()]) >> shift,
                                           int32_t{INT16_MIN}, int32_t{INT16_MAX}));
  return {};
}

// --- scaling -------------------------------------------------------------------------------------

Status infer_auto_scale(InferContext& ctx) {
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  ctx.set(0, DType::I16, ctx.shape(0));
  ctx.set(1, DType::I32, Shape{});
  return {};
}

// The largest magnitude in 16 bits, in which -32768 has none: whatever comes behind it counts anew.
int16_t largest_magnitude(std::span<const int16_t> x) {
  int16_t most = 0;
  for (const int16_t v : x) {
    if (v > most)
      most = v;
    else if (-int32_t{v} > most)
      most = static_cast<int16_t>(-int32_t{v});
  }
  return most;
}

Status auto_scale(KernelContext& ctx) {
  const auto x = ctx.input(0).as<int16_t>();
  const auto y = ctx.output(0).as<int16_t>();
  const auto most = static_cast<uint32_t>(int32_t{largest_magnitude(x)});
  const int used = most == 0 ? 32 : 32 - std::countl_zero(most);  // silence is not scaled
  const int bits = std::max(0, 16 - used - 1);
  for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<int16_t>(int32_t{x[i]} * (1 << bits));
  ctx.output(1).as<int32_t>()[0] = bits;
  return {};
}

// --- Fourier transforms --------------------------------------------------------------------------

bool is_fft_type(DType dtype) {
  return dtype == DType::I16 || dtype == DType::I32 || dtype == DType::F32;
}

Status check_transform(const InferContext& ctx) {
  const int64_t length = ctx.attrs<SignalFftAttrs>().fft_length;
  if (length < 2 || length > kMaxLength || length % 2 != 0)
    return ctx.bad_value("a transform of length " + std::to_string(length));
  if (is_fft_type(ctx.dtype(0))) return {};
  return ctx.bad_type("i16, i32 or f32 is needed, not " + operand_text(ctx, 0));
}

Status infer_rfft(InferContext& ctx) {
  EC_CHECK_OK(check_transform(ctx));
  const int64_t length = ctx.attrs<SignalFftAttrs>().fft_length;
  EC_TRY(std::optional<Shape> out, with_last(ctx, 0, Dim(length + 2)));
  if (ctx.shape(0)) {
    const Dim& samples = ctx.shape(0)->dims().back();
    if (samples.is_static() && samples.size() > length)
      return ctx.bad_shape("more samples than the transform takes: " + operand_text(ctx, 0));
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status infer_irfft(InferContext& ctx) {
  EC_CHECK_OK(check_transform(ctx));
  const int64_t length = ctx.attrs<SignalFftAttrs>().fft_length;
  EC_TRY(std::optional<Shape> out, with_last(ctx, 0, Dim(length)));
  if (ctx.shape(0)) {
    const Dim& parts = ctx.shape(0)->dims().back();
    if (parts.is_static() && parts.size() != length + 2)
      return ctx.bad_shape("a spectrum of " + std::to_string(length + 2) +
                           " numbers is needed, not " + operand_text(ctx, 0));
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// Rows of the operand and the result, one after the other: f(row in, row out).
template <class T, class F>
void for_each_row(KernelContext& ctx, F&& f) {
  const auto x = ctx.input(0).as<T>();
  const auto y = ctx.output(0).as<T>();
  const auto from = static_cast<size_t>(ctx.input(0).shape.back());
  const auto to = static_cast<size_t>(ctx.output(0).shape.back());
  for (size_t row = 0; row < y.size() / to; ++row)
    f(x.subspan(row * from, from), y.subspan(row * to, to));
}

template <class T>
void fixed_rfft(KernelContext& ctx, size_t length) {
  const FixedRealFourier<T> transform(length, false);
  std::vector<T> padded(length);
  std::vector<FixedComplex<T>> result(length / 2 + 1);
  for_each_row<T>(ctx, [&](auto x, auto y) {
    std::fill(std::copy(x.begin(), x.end(), padded.begin()), padded.end(), T{0});
    transform.forward(padded, result);
    for (size_t k = 0; k < result.size(); ++k) {
      y[2 * k] = result[k].re;
      y[2 * k + 1] = result[k].im;
    }
  });
}

template <class T>
void fixed_irfft(KernelContext& ctx, size_t length) {
  const FixedRealFourier<T> transform(length, true);
  std::vector<FixedComplex<T>> spectrum(length / 2 + 1);
  for_each_row<T>(ctx, [&](auto x, auto y) {
    for (size_t k = 0; k < spectrum.size(); ++k) spectrum[k] = {x[2 * k], x[2 * k + 1]};
    transform.backward(spectrum, y);
  });
}

void float_rfft(KernelContext& ctx, size_t length) {
  const FourierTransform transform(length, false);
  std::vector<Complex> line(length);
  for_each_row<float>(ctx, [&](auto x, auto y) {
    std::fill(line.begin(), line.end(), Complex());
    for (size_t i = 0; i < x.size(); ++i) line[i] = static_cast<double>(x[i]);
    transform.run(line);
    for (size_t k = 0; k <= length / 2; ++k) {
      y[2 * k] = static_cast<float>(line[k].real());
      y[2 * k + 1] = static_cast<float>(line[k].imag());
    }
  });
}

// The imaginary parts of the first and the last frequency of a real signal do not count.
void float_irfft(KernelContext& ctx, size_t length) {
  const FourierTransform transform(length, true);
  std::vector<Complex> line(length);
  for_each_row<float>(ctx, [&](auto x, auto y) {
    for (size_t k = 0; k <= length / 2; ++k)
      line[k] = {static_cast<double>(x[2 * k]),
                 k == 0 || k == length / 2 ? 0.0 : static_cast<double>(x[2 * k + 1])};
    for (size_t k = 1; k < length / 2; ++k) line[length - k] = std::conj(line[k]);
    transform.run(line);
    for (size_t i = 0; i < length; ++i) y[i] = static_cast<float>(line[i].real());
  });
}

template <bool kInverse>
Status fourier(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  const auto length = static_cast<size_t>(ctx.attrs<SignalFftAttrs>().fft_length);
  switch (ctx.input(0).dtype) {
    case DType::I16:
      kInverse ? fixed_irfft<int16_t>(ctx, length) : fixed_rfft<int16_t>(ctx, length);
      return {};
    case DType::I32:
      kInverse ? fixed_irfft<int32_t>(ctx, length) : fixed_rfft<int32_t>(ctx, length);
      return {};
    default:
      kInverse ? float_irfft(ctx, length) : float_rfft(ctx, length);
      return {};
  }
}

// --- energy --------------------------------------------------------------------------------------

Status infer_energy(InferContext& ctx) {
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  const auto& attrs = ctx.attrs<SignalEnergyAttrs>();
  if (attrs.start_index < 0 || attrs.end_index < attrs.start_index)
    return ctx.bad_value("frequencies from " + std::to_string(attrs.start_index) + " to " +
                         std::to_string(attrs.end_index));
  Dim count = Dim::unknown();
  if (ctx.shape(0)) {
    if (ctx.shape(0)->rank() != 1)
      return ctx.bad_shape("a list is needed, not " + operand_text(ctx, 0));
    const Dim& parts = (*ctx.shape(0))[0];
    if (parts.is_static()) {
      if (parts.size() % 2 != 0 || attrs.end_index > parts.size() / 2)
        return ctx.bad_shape("the spectrum " + operand_text(ctx, 0) + " has no frequency " +
                             std::to_string(attrs.end_index));
      count = Dim(parts.size() / 2);
    }
  }
  ctx.set(0, DType::U32, Shape{count});
  return {};
}

Status energy(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SignalEnergyAttrs>();
  const auto x = ctx.input(0).as<int16_t>();
  const auto y = ctx.output(0).as<uint32_t>();
  std::fill(y.begin(), y.end(), 0u);
  for (auto i = static_cast<size_t>(attrs.start_index); i < static_cast<size_t>(attrs.end_index);
       ++i)
    y[i] =
        static_cast<uint32_t>(int64_t{x[2 * i]} * x[2 * i] + int64_t{x[2 * i + 1]} * x[2 * i + 1]);
  return {};
}

}  // namespace

constexpr Rule kSignalWindowRules[] = {rule::min_rank("x", 1), rule::min_rank("weights", 1),
                                       rule::between("shift", 0, 31)};
EC_OP_DEF(
    SignalWindow, .signature = "(x, weights) -> y",
    .summary = "(x * weights) >> shift within 16 bits; the weights are repeated for every frame.",
    .rules = kSignalWindowRules, .infer = infer_window, .reference = window,
    .layout = LayoutRule::Fixed);
EC_OP_DEF(SignalFftAutoScale, .signature = "(x) -> (y, bits)",
          .summary = "x times the largest power of two, 2^bits, at which 16 bits still hold it.",
          .infer = infer_auto_scale, .reference = auto_scale, .layout = LayoutRule::Fixed);
constexpr Rule kSignalRfftRules[] = {rule::min_rank("x", 1),
                                     rule::between("fft_length", 2, rule::kLargest)};
EC_OP_DEF(SignalRfft, .signature = "(x) -> y",
          .summary =
              "Fourier transform of rows of real numbers, filled up with zeros; real and imaginary "
              "parts of length / 2 + 1 frequencies alternate. In integers every stage halves.",
          .rules = kSignalRfftRules, .infer = infer_rfft, .reference = fourier<false>,
          .layout = LayoutRule::Fixed);
EC_OP_DEF(SignalIrfft, .signature = "(x) -> y",
          .summary = "The inverse of signal_rfft; in integers without the division by the length.",
          .rules = kSignalRfftRules, .infer = infer_irfft, .reference = fourier<true>,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalEnergyRules[] = {rule::rank("spectrum", 1), rule::at_least("start_index", 0),
                                       rule::at_least("end_index", 0)};
EC_OP_DEF(SignalEnergy, .signature = "(spectrum) -> y",
          .summary = "re^2 + im^2 of the frequencies [start_index, end_index), 0 elsewhere.",
          .rules = kSignalEnergyRules, .infer = infer_energy, .reference = energy,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
