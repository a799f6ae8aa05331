// Fourier transforms, window functions and the mel filter bank.
#include <algorithm>
#include <optional>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/fourier.h"

namespace ec::ops {
namespace {

// Transforms beyond this length only come from broken files.
constexpr int64_t kMaxLength = int64_t{1} << 32;

// A scalar operand whose value inference knows.
std::optional<int64_t> known_scalar(const InferContext& ctx, size_t i) {
  const auto values = ctx.int_values(i);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

Status check_scalar(const InferContext& ctx, size_t i, const char* what) {
  if (!ctx.has(i)) return {};
  EC_CHECK_OK(require_integer(ctx, i, what));
  return require_scalar(ctx, i, what);
}

// Last dimension: 1 (real) or 2 (complex).
Status check_complex(const InferContext& ctx, const Dim& width) {
  if (width.is_static() && width.size() != 1 && width.size() != 2)
    return ctx.bad_shape("the last dimension of " + operand_text(ctx, 0) +
                         " should be 1 (real) or 2 (complex)");
  return {};
}

Dim one_sided(const Dim& length) {
  return length.is_static() ? Dim(length.size() / 2 + 1) : Dim::unknown();
}

// --- dft -----------------------------------------------------------------------------------------

enum : size_t { kX, kLength, kAxis };

Result<Dim> transform_length(const InferContext& ctx, const Dim& input) {
  const auto& attrs = ctx.attrs<DftAttrs>();
  if (ctx.has(kLength)) {
    const auto length = known_scalar(ctx, kLength);
    if (!length) return Dim::unknown();
    if (*length < 1 || *length > kMaxLength)
      return ctx.bad_value("transform length " + std::to_string(*length) + " is out of range");
    return Dim(*length);
  }
  if (!(attrs.inverse && attrs.onesided)) {
    if (input.is_static() && (input.size() < 1 || input.size() > kMaxLength))
      return ctx.bad_shape(operand_text(ctx, kX) + " has nothing to transform");
    return input;
  }
  if (!input.is_static()) return Dim::unknown();
  if (input.size() < 2 || input.size() > kMaxLength)
    return ctx.bad_shape(operand_text(ctx, kX) + " has too few frequencies");
  return Dim(2 * (input.size() - 1));
}

Status infer_dft(InferContext& ctx) {
  const auto& attrs = ctx.attrs<DftAttrs>();
  if (!is_float(ctx.dtype(kX)))
    return ctx.bad_type("dft needs a float type, not " + operand_text(ctx, kX));
  EC_CHECK_OK(check_scalar(ctx, kLength, "length"));
  EC_CHECK_OK(check_scalar(ctx, kAxis, "axis"));
  ctx.set(0, ctx.dtype(kX), std::nullopt);
  if (!ctx.shape(kX)) return {};
  Shape out = *ctx.shape(kX);
  const size_t rank = out.rank();
  if (rank < 2) return ctx.bad_shape("dft needs rank 2 or more, not " + operand_text(ctx, kX));
  const Dim width = out[rank - 1];
  EC_CHECK_OK(check_complex(ctx, width));
  if (attrs.onesided && width.is_static() && width.size() != (attrs.inverse ? 2 : 1))
    return ctx.bad_shape(std::string("a one-sided ") +
                         (attrs.inverse ? "inverse needs complex" : "transform needs real") +
                         " input, not " + operand_text(ctx, kX));
  out[rank - 1] = Dim(attrs.onesided && attrs.inverse ? 1 : 2);
  const std::optional<int64_t> given =
      ctx.has(kAxis) ? known_scalar(ctx, kAxis) : std::optional<int64_t>(-2);
  if (!given) {
    for (size_t d = 0; d + 1 < rank; ++d) out[d] = Dim::unknown();
    ctx.set(0, ctx.dtype(kX), std::move(out));
    return {};
  }
  EC_TRY(const int64_t axis, normalize_axis(ctx, *given, rank));
  if (axis == static_cast<int64_t>(rank) - 1)
    return ctx.bad_value(
        "the last dimension holds real and imaginary values and cannot be transformed");
  const auto a = static_cast<size_t>(axis);
  EC_TRY(const Dim length, transform_length(ctx, out[a]));
  out[a] = attrs.onesided && !attrs.inverse ? one_sided(length) : length;
  ctx.set(0, ctx.dtype(kX), std::move(out));
  return {};
}

int64_t load_scalar(const ConstView& view) {
  int64_t value = 0;
  load<int64_t>(view, std::span(&value, 1));
  return value;
}

// Reads `count` complex numbers of a strided line; those beyond it are zero.
void read_line(std::span<const double> values, int64_t start, int64_t stride, int64_t width,
               std::span<Complex> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<size_t>(start + static_cast<int64_t>(i) * stride);
    out[i] = {values[at], width == 2 ? values[at + 1] : 0.0};
  }
}

// The missing half of a real signal's spectrum: conjugates in reverse. Like numpy, the imaginary
// values of the first and, for even lengths, the middle frequency do not count.
void complete_spectrum(std::span<Complex> line, size_t given) {
  const size_t n = line.size();
  line[0] = line[0].real();
  for (size_t k = given; k < n; ++k) line[k] = n - k < given ? std::conj(line[n - k]) : Complex();
  if (n % 2 == 0) line[n / 2] = line[n / 2].real();
}

Status reference_dft(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<DftAttrs>();
  const auto xs = ctx.input(kX).shape, os = ctx.output(0).shape;
  if (ctx.output(0).count() == 0) return {};
  const auto rank = static_cast<int64_t>(xs.size());
  int64_t axis = ctx.has(kAxis) ? load_scalar(ctx.input(kAxis)) : -2;
  if (axis < 0) axis += rank;
  const auto a = static_cast<size_t>(axis);
  const bool real_result = attrs.onesided && attrs.inverse;
  const int64_t width = xs.back(), out_width = os.back();
  int64_t inner = 1, outer = 1;  // positions around the axis, the last dimension excluded
  for (size_t d = 0; d < a; ++d) outer *= xs[d];
  for (size_t d = a + 1; d + 1 < xs.size(); ++d) inner *= xs[d];
  const int64_t length = ctx.has(kLength) ? load_scalar(ctx.input(kLength))
                         : real_result    ? 2 * (xs[a] - 1)
                                          : xs[a];
  const Reader<double> x(ctx.input(kX));
  Writer<double> out(ctx.output(0));
  // A one-sided spectrum gives up to length / 2 + 1 frequencies, a signal up to length elements.
  const auto used = static_cast<size_t>(std::min(xs[a], real_result ? length / 2 + 1 : length));
  std::vector<Complex> line(static_cast<size_t>(length));
  const FourierTransform transform(static_cast<size_t>(length), attrs.inverse);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::fill(line.begin(), line.end(), Complex());
      read_line(x.values(), (o * xs[a] * inner + i) * width, inner * width, width,
                std::span(line).first(used));
      if (real_result) complete_spectrum(line, used);
      transform.run(line);
      for (int64_t k = 0; k < os[a]; ++k) {
        const auto at = static_cast<size_t>(((o * os[a] + k) * inner + i) * out_width);
        out[at] = line[static_cast<size_t>(k)].real();
        if (out_width == 2) out[at + 1] = line[static_cast<size_t>(k)].imag();
      }
    }
  out.commit();
  return {};
}

// --- stft ----------------------------------------------------------------------------------------

enum : size_t { kSignal, kStep, kWindow, kFrameLength };

// Length of a frame from whatever operand tells it.
Result<Dim> frame_length(const InferContext& ctx) {
  Dim length = Dim::unknown();
  if (ctx.has(kFrameLength)) {
    if (const auto known = known_scalar(ctx, kFrameLength)) {
      if (*known < 1 || *known > kMaxLength)
        return ctx.bad_value("frame length " + std::to_string(*known) + " is out of range");
      length = Dim(*known);
    }
  }
  if (ctx.has(kWindow) && ctx.shape(kWindow)) {
    if (ctx.shape(kWindow)->rank() != 1)
      return ctx.bad_shape("the window should have rank 1, not " + operand_text(ctx, kWindow));
    const Dim& window = (*ctx.shape(kWindow))[0];
    if (window.is_static() && (window.size() < 1 || window.size() > kMaxLength))
      return ctx.bad_shape("the window " + operand_text(ctx, kWindow) + " is empty");
    EC_TRY(length, merge_dims(ctx, length, window, "length of frame and window"));
  }
  if (!ctx.has(kFrameLength) && !ctx.has(kWindow) && ctx.shape(kSignal))
    length = (*ctx.shape(kSignal))[1];
  return length;
}

Status infer_stft(InferContext& ctx) {
  const auto& attrs = ctx.attrs<StftAttrs>();
  if (!is_float(ctx.dtype(kSignal)))
    return ctx.bad_type("stft needs a float type, not " + operand_text(ctx, kSignal));
  if (ctx.has(kWindow) && ctx.dtype(kWindow) != ctx.dtype(kSignal))
    return ctx.bad_type("signal " + operand_text(ctx, kSignal) + " and window " +
                        operand_text(ctx, kWindow) + " have different element types");
  EC_CHECK_OK(check_scalar(ctx, kStep, "frame step"));
  EC_CHECK_OK(check_scalar(ctx, kFrameLength, "frame length"));
  Dim batch = Dim::unknown(), samples = Dim::unknown();
  if (ctx.shape(kSignal)) {
    const Shape& signal = *ctx.shape(kSignal);
    if (signal.rank() != 3)
      return ctx.bad_shape("stft needs a signal [batch, length, 1 or 2], not " +
                           operand_text(ctx, kSignal));
    EC_CHECK_OK(check_complex(ctx, signal[2]));
    if (attrs.onesided && signal[2].is_static() && signal[2].size() != 1)
      return ctx.bad_shape("a one-sided transform needs real input, not " +
                           operand_text(ctx, kSignal));
    batch = signal[0];
    samples = signal[1];
  }
  EC_TRY(const Dim length, frame_length(ctx));
  const auto step = known_scalar(ctx, kStep);
  if (step && *step < 1)
    return ctx.bad_value("frame step " + std::to_string(*step) + " should be positive");
  Dim frames = Dim::unknown();
  if (samples.is_static() && length.is_static()) {
    if (length.size() < 1 || samples.size() < length.size())
      return ctx.bad_shape("signal " + operand_text(ctx, kSignal) + " is shorter than a frame of " +
                           length.text());
    if (step) frames = Dim((samples.size() - length.size()) / *step + 1);
  }
  ctx.set(0, ctx.dtype(kSignal),
          Shape{batch, frames, attrs.onesided ? one_sided(length) : length, 2});
  return {};
}

Status reference_stft(KernelContext& ctx) {
  const auto xs = ctx.input(kSignal).shape, os = ctx.output(0).shape;
  if (ctx.output(0).count() == 0) return {};
  const int64_t width = xs[2], step = load_scalar(ctx.input(kStep));
  const int64_t length = ctx.has(kFrameLength) ? load_scalar(ctx.input(kFrameLength))
                         : ctx.has(kWindow)    ? ctx.input(kWindow).shape[0]
                                               : xs[1];
  // Inference may have known the window alone, and the run knows step and length.
  const bool fits = step >= 1 && length >= 1 && length <= xs[1] && os[2] <= length &&
                    os[1] - 1 <= (xs[1] - length) / step &&
                    (!ctx.has(kWindow) || ctx.input(kWindow).shape[0] == length);
  if (!fits)
    return ctx.fail("frames of " + std::to_string(length) + " samples every " +
                    std::to_string(step) + " do not fit the signal, the window or the result");
  const Reader<double> x(ctx.input(kSignal));
  std::optional<Reader<double>> window;
  if (ctx.has(kWindow)) window.emplace(ctx.input(kWindow));
  Writer<double> out(ctx.output(0));
  std::vector<Complex> line(static_cast<size_t>(length));
  const FourierTransform transform(line.size(), false);
  double* target = out.data();
  for (int64_t b = 0; b < os[0]; ++b)
    for (int64_t f = 0; f < os[1]; ++f) {
      read_line(x.values(), (b * xs[1] + f * step) * width, width, width, line);
      if (window)
        for (size_t i = 0; i < line.size(); ++i) line[i] *= (*window)[i];
      transform.run(line);
      for (int64_t k = 0; k < os[2]; ++k) {
        *target++ = line[static_cast<size_t>(k)].real();
        *target++ = line[static_cast<size_t>(k)].imag();
      }
    }
  out.commit();
  return {};
}

}  // namespace

constexpr Rule kDftRules[] = {rule::floats("x"),        rule::min_rank("x", 2),
                              rule::integers("length"), rule::one_element("length"),
                              rule::integers("axis"),   rule::one_element("axis")};
EC_OP_DEF(Dft, .signature = "(x, length?, axis?) -> y",
          .summary =
              "Discrete Fourier transform along one axis, forward or inverse; one-sided for real "
              "signals.",
          .rules = kDftRules, .infer = infer_dft, .reference = reference_dft,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kStftRules[] = {rule::floats("signal"),           rule::rank("signal", 3),
                               rule::integers("frame_step"),     rule::one_element("frame_step"),
                               rule::rank("window", 1),          rule::integers("frame_length"),
                               rule::one_element("frame_length")};
EC_OP_DEF(Stft, .signature = "(signal, frame_step, window?, frame_length?) -> y",
          .summary = "Fourier transforms of windowed frames of a signal.", .rules = kStftRules,
          .infer = infer_stft, .reference = reference_stft, .quant = QuantRule::Never,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
