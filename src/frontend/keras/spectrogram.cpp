// Layers that make spectrograms of audio.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/keras/convolution.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()
constexpr int64_t kMaxTransform = 1 << 16;

// --- STFTSpectrogram: convolutions with kernels of sines and cosines -----------------------------

struct Frames {
  int64_t channels = 1;
  bool channels_first = false;
};

// One part of the spectrum, [batch, channels, frequencies, time], whatever the layout of the input.
Tensor* transform(LayerCall& c, Tensor* x, std::string_view kernel, const Frames& frames,
                  int64_t step) {
  const int64_t samples = c.size(x, frames.channels_first ? 2 : 1);
  if (!frames.channels_first) x = c.transpose(x, {0, 2, 1});
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  attrs.strides = {step};
  attrs.dilations = {1};
  Tensor* y = convolve(c, c.reshape(x, {Size(-1), Size(samples), Size(1)}), c.weight(kernel),
                       nullptr, attrs, c.text("padding", "valid"));
  y = c.transpose(y, {0, 2, 1});
  return c.reshape(y, {Size(-1), Size(frames.channels), Size(c.size(y, 1)), Size(c.size(y, 2))});
}

// From [batch, channels, frequencies, time] to what the layer is asked for.
Tensor* arranged(LayerCall& c, Tensor* y, const Frames& frames) {
  if (c.flag("expand_dims", false))
    return c.transpose(y, frames.channels_first ? Ints{0, 1, 3, 2} : Ints{0, 3, 2, 1});
  y = c.reshape(y, {Size(-1), c.product(c.size(y, 1), c.size(y, 2)), Size(c.size(y, 3))});
  return frames.channels_first ? y : c.transpose(y, {0, 2, 1});
}

// All frequencies but the first and the last stand for two.
Tensor* both_sides(LayerCall& c, Tensor* power) {
  const int64_t last = c.size(power, 2) - 1;
  Tensor* inner = c.slice(power, 2, 1, last);
  return c.plus(power, c.pad(inner, {0, 0, 1, 0}, {0, 0, 1, 0}));
}

Value stft_spectrogram(LayerCall& c) {
  const std::string mode = c.text("mode", "log");
  Tensor* x = c.x();
  if (c.rank(x) != 3) return c.fail(Code::ShapeMismatch, "a signal with channels is needed");
  Frames frames;
  frames.channels_first = c.channels_first();
  frames.channels = c.size(x, frames.channels_first ? 1 : 2);
  const int64_t step = c.integer("frame_step", c.integer("frame_length") / 2);
  if (!c.ok() || step < 1 || step > kMaxTransform)
    return c.fail(Code::BadValue, "the step between frames is out of range");
  if (mode == "real") {
    c.variables({"real_kernel"});
    return arranged(c, transform(c, x, "real_kernel", frames, step), frames);
  }
  if (mode == "imag") {
    c.variables({"imag_kernel"});
    return arranged(c, transform(c, x, "imag_kernel", frames, step), frames);
  }
  c.variables({"real_kernel", "imag_kernel"});
  Tensor* real = transform(c, x, "real_kernel", frames, step);
  Tensor* imaginary = transform(c, x, "imag_kernel", frames, step);
  if (mode == "angle") return arranged(c, c.add(OpKind::Atan2, {imaginary, real}), frames);
  if (mode == "stft") return arranged(c, c.concat({real, imaginary}, 2), frames);
  Tensor* power = c.plus(c.times(real, real), c.times(imaginary, imaginary));
  if (mode == "psd") return arranged(c, both_sides(c, power), frames);
  const auto at_least = [&](Tensor* y) { return c.add(OpKind::Max, {y, c.like(y, kEpsilon)}); };
  Tensor* magnitude = arranged(c, c.add(OpKind::Sqrt, {at_least(power)}), frames);
  if (mode == "magnitude") return magnitude;
  if (mode == "log") return c.add(OpKind::Log, {at_least(magnitude)});
  return c.unsupported("mode '" + mode + "'");
}

// --- MelSpectrogram ------------------------------------------------------------------------------

// A periodic window in the middle of a frame of `length`; no window: ones.
std::vector<float> window_of(const std::string& name, int64_t used, int64_t length) {
  std::vector<float> window(static_cast<size_t>(length), 0.0f);
  const double a = name == "hamming" ? 0.54 : 0.5, b = 1.0 - a;
  for (int64_t i = 0; i < used; ++i) {
    const double turn = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(used);
    const double value = name.empty() ? 1.0 : a - b * std::cos(turn);
    window[static_cast<size_t>((length - used) / 2 + i)] = static_cast<float>(value);
  }
  return window;
}

double mel_of(double hertz) { return 1127.0 * std::log(1.0 + hertz / 700.0); }

// [bins, bands]: triangles that are linear in mel, the first bin in none of them.
std::vector<float> mel_matrix(int64_t bins, int64_t bands, double rate, double low, double high) {
  std::vector<float> matrix(static_cast<size_t>(bins * bands), 0.0f);
  const double first = mel_of(low), step = (mel_of(high) - first) / static_cast<double>(bands + 1);
  for (int64_t i = 1; i < bins; ++i) {
    const double at = mel_of(rate / 2.0 * static_cast<double>(i) / static_cast<double>(bins - 1));
    for (int64_t k = 0; k < bands; ++k) {
      const double lower = first + step * static_cast<double>(k);
      const double slope = std::min(at - lower, lower + 2.0 * step - at) / step;
      matrix[static_cast<size_t>(i * bands + k)] = static_cast<float>(std::max(0.0, slope));
    }
  }
  return matrix;
}

// The magnitudes of the transforms of overlapping frames, [..., time, bins].
Tensor* magnitudes(LayerCall& c, Tensor* x, int64_t length) {
  const int64_t rank = c.rank(x), samples = c.size(x, rank - 1), half = length / 2;
  const int64_t used = c.integer("sequence_length", length);
  if (!c.ok() || samples <= half || used < 1 || used > length)
    return c.fail(Code::BadValue, "the signal is shorter than half a frame, or the window longer");
  Sizes outer = c.sizes(x);
  outer.pop_back();
  x = c.reshape(x, {Size(-1), Size(samples)});
  x = c.pad(x, {0, half}, {0, half}, nullptr, PadMode::Reflect);
  const std::vector<float> window = window_of(c.text("window"), used, length);
  Tensor* spectrum = c.add(OpKind::Stft,
                           {c.unsqueeze(x, {2}), c.int_list({c.integer("sequence_stride", 512)}),
                            c.floats(Shape{Dim(length)}, window)},
                           StftAttrs{});
  Tensor* power = c.reduce(OpKind::ReduceSum, c.times(spectrum, spectrum), {3}, false);
  outer.emplace_back(c.size(power, 1));
  outer.emplace_back(c.size(power, 2));
  return c.add(OpKind::Sqrt, {c.reshape(power, outer)});
}

Tensor* decibels(LayerCall& c, Tensor* power) {
  const double least = c.number("min_power", 1e-10);
  const double reference = std::max(std::abs(c.number("ref_power", 1.0)), least);
  Tensor* y = c.add(OpKind::Log, {c.add(OpKind::Max, {power, c.like(power, least)})});
  y = c.minus(c.times(y, 10.0 / std::numbers::ln10), 10.0 * std::log10(reference));
  if (c.config("top_db").is_none()) return y;
  Tensor* loudest = c.reduce(OpKind::ReduceMax, y, c.in_order(c.rank(y)), true);
  Tensor* floor = c.minus(loudest, c.number("top_db", 80.0));
  return c.add(OpKind::Max, {y, floor});
}

Value mel_spectrogram(LayerCall& c) {
  const int64_t length = c.integer("fft_length", 2048), bands = c.integer("num_mel_bins", 128);
  const int64_t bins = length / 2 + 1;
  if (length < 2 || length > kMaxTransform || bands < 1 || bands > 4096)
    return c.fail(Code::BadValue, "the transform or the number of bands is out of range");
  const double rate = c.number("sampling_rate", 16000), low = c.number("min_freq", 20.0);
  const double high = c.number("max_freq", std::floor(rate / 2.0));
  if (!(rate > 0.0) || !(low >= 0.0) || !(high > low))
    return c.fail(Code::BadValue, "the frequencies are out of range");
  Tensor* y = magnitudes(c, c.to_float(c.x()), length);
  if (!c.afford(c.product(bins, bands))) return y;
  const double exponent = c.number("mag_exp", 2.0);
  y = exponent == 2.0 ? c.times(y, y) : c.add(OpKind::Pow, {y, c.like(y, exponent)});
  Tensor* bands_of =
      c.floats(Shape{Dim(bins), Dim(bands)}, mel_matrix(bins, bands, rate, low, high));
  y = c.matmul(y, bands_of);
  if (c.flag("power_to_db", true)) y = decibels(c, y);
  const int64_t rank = c.rank(y);
  return rank < 2 ? y : c.transpose(y, c.swapped(rank, rank - 1, rank - 2));
}

constexpr LayerRow kRows[] = {
    {"STFTSpectrogram", stft_spectrogram, MaskRule::Drop, true},
    {"MelSpectrogram", mel_spectrogram},
};

}  // namespace

const std::span<const LayerRow> kSpectrogramRows = kRows;

}  // namespace ec::keras
