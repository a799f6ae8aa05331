// Window functions for spectra, and the mel filter bank.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/define.h"
#include "ops/dim_math.h"

namespace ec::ops {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 32;

Status check_scalar(const InferContext& ctx, size_t i, const char* what) {
  EC_CHECK_OK(require_integer(ctx, i, what));
  return require_scalar(ctx, i, what);
}

// --- windows -------------------------------------------------------------------------------------

Status infer_window_function(InferContext& ctx) {
  const DType dtype = ctx.attrs<WindowAttrs>().dtype;
  if (dtype == DType::Bool) return ctx.bad_type("a window cannot be of type bool");
  EC_CHECK_OK(check_scalar(ctx, 0, "window size"));
  if (const auto size = ctx.int_values(0);
      size && size->size() == 1 && (size->front() < 0 || size->front() > kMaxSize))
    return ctx.bad_value("window size " + std::to_string(size->front()) + " is out of range");
  const auto dims = ctx.dim_values(0);
  ctx.set(0, dtype, Shape{dims && dims->size() == 1 ? dims->front() : Dim::unknown()});
  return {};
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
Status fill_window(KernelContext& ctx, double a0, double a1, double a2) {
  Writer<double> out(ctx.output(0));
  const auto size = static_cast<double>(out.size());
  const double n = ctx.attrs<WindowAttrs>().periodic ? size : size - 1.0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double angle =
        n > 0.0 ? 2.0 * std::numbers::pi * static_cast<double>(i) / n : std::numbers::pi;
    out[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2.0 * angle);
  }
  out.commit();
  return {};
}

Status reference_hann(KernelContext& ctx) { return fill_window(ctx, 0.5, 0.5, 0.0); }
Status reference_hamming(KernelContext& ctx) {
  return fill_window(ctx, 25.0 / 46.0, 21.0 / 46.0, 0.0);
}
Status reference_blackman(KernelContext& ctx) { return fill_window(ctx, 0.42, 0.5, 0.08); }

// --- mel -----------------------------------------------------------------------------------------

enum : size_t { kBins, kLength, kRate, kLower, kUpper };

Result<Dim> scalar_dim(const InferContext& ctx, size_t i, const char* what) {
  EC_CHECK_OK(check_scalar(ctx, i, what));
  const auto values = ctx.int_values(i);
  if (!values || values->size() != 1) return Dim::unknown();
  if (values->front() < 0 || values->front() > kMaxSize)
    return ctx.bad_value(std::string(what) + " " + std::to_string(values->front()) +
                         " is out of range");
  return Dim(values->front());
}

Status infer_mel(InferContext& ctx) {
  EC_TRY(const Dim bins, scalar_dim(ctx, kBins, "number of mel bins"));
  EC_TRY(const Dim length, scalar_dim(ctx, kLength, "transform length"));
  EC_TRY(const Dim rate, scalar_dim(ctx, kRate, "sample rate"));
  if (rate == Dim(0)) return ctx.bad_value("the sample rate should be positive");
  for (const size_t i : {kLower, kUpper}) {
    if (!is_float(ctx.dtype(i)))
      return ctx.bad_type("frequencies should be floats, not " + operand_text(ctx, i));
    EC_CHECK_OK(require_scalar(ctx, i, "frequency"));
  }
  if (ctx.attrs<MelAttrs>().dtype == DType::Bool)
    return ctx.bad_type("filters cannot be of type bool");
  ctx.set(0, ctx.attrs<MelAttrs>().dtype,
          Shape{length.is_static() ? Dim(length.size() / 2 + 1) : Dim::unknown(), bins});
  return {};
}

template <class T>
T load_scalar(const ConstView& view) {
  T value{};
  load<T>(view, std::span(&value, 1));
  return value;
}

double to_mel(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double to_hertz(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

Status reference_mel(KernelContext& ctx) {
  const auto os = ctx.output(0).shape;
  const int64_t spectrum = os[0], bins = os[1];
  const auto length = static_cast<double>(load_scalar<int64_t>(ctx.input(kLength)));
  const auto rate = static_cast<double>(load_scalar<int64_t>(ctx.input(kRate)));
  const double low = to_mel(load_scalar<double>(ctx.input(kLower))),
               high = to_mel(load_scalar<double>(ctx.input(kUpper)));
  const double step = (high - low) / static_cast<double>(bins + 2);
  if (!std::isfinite(step)) return ctx.fail("the band's edges should be frequencies above -700 Hz");
  // Edge i of the triangles as a row of the spectrum; far away is far enough.
  const auto edge = [&](int64_t i) {
    const double row = (length + 1.0) * to_hertz(low + step * static_cast<double>(i)) / rate;
    return static_cast<int64_t>(std::isnan(row) ? 0.0 : std::clamp(std::floor(row), -1e15, 1e15));
  };
  Writer<double> out(ctx.output(0));
  std::fill(out.values().begin(), out.values().end(), 0.0);
  for (int64_t bin = 0; bin < bins; ++bin) {
    const int64_t left = edge(bin), center = edge(bin + 1), right = edge(bin + 2);
    // Rows of a triangle that lie outside the spectrum are cut off.
    for (int64_t j = std::max<int64_t>(left, 0);
         j < std::min(std::max(right, center + 1), spectrum); ++j) {
      double& weight = out[static_cast<size_t>(j * bins + bin)];
      if (j < center)
        weight = static_cast<double>(j - left) / static_cast<double>(center - left);
      else
        weight = j == center ? 1.0
                             : static_cast<double>(right - j) / static_cast<double>(right - center);
    }
  }
  out.commit();
  return {};
}

}  // namespace

constexpr Rule kHannWindowRules[] = {rule::integers("size"), rule::one_element("size"),
                                     rule::not_negative("size")};
EC_OP_DEF(HannWindow, .signature = "(size) -> y", .summary = "Hann window, periodic or symmetric.",
          .rules = kHannWindowRules, .infer = infer_window_function, .reference = reference_hann,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
EC_OP_DEF(HammingWindow, .signature = "(size) -> y",
          .summary = "Hamming window, periodic or symmetric.", .rules = kHannWindowRules,
          .infer = infer_window_function, .reference = reference_hamming, .quant = QuantRule::Never,
          .layout = LayoutRule::Fixed);
EC_OP_DEF(BlackmanWindow, .signature = "(size) -> y",
          .summary = "Blackman window, periodic or symmetric.", .rules = kHannWindowRules,
          .infer = infer_window_function, .reference = reference_blackman,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kMelWeightMatrixRules[] = {
    rule::integers("num_mel_bins"), rule::one_element("num_mel_bins"),
    rule::integers("dft_length"),   rule::one_element("dft_length"),
    rule::integers("sample_rate"),  rule::one_element("sample_rate"),
    rule::floats("lower_hertz"),    rule::one_element("lower_hertz"),
    rule::floats("upper_hertz"),    rule::one_element("upper_hertz")};
EC_OP_DEF(MelWeightMatrix,
          .signature = "(num_mel_bins, dft_length, sample_rate, lower_hertz, upper_hertz) -> y",
          .summary = "Triangular filters that turn a linear spectrum into mel bands.",
          .rules = kMelWeightMatrixRules, .infer = infer_mel, .reference = reference_mel,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
