#include "quantize/calibration/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "support/rounding.h"

namespace ec::quantize {
namespace {

// The weights of the source pixels that make one pixel of the result.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> triangle_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  // When shrinking, the triangle widens with the step, so that every source pixel counts.
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Taps& taps = all[static_cast<size_t>(i)];
    // NOLINTBEGIN(bugprone-incorrect-roundings): these are Pillow's roundings
    taps.first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const int64_t last = std::min(from, static_cast<int64_t>(centre + support + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = taps.first; x < last; ++x) {
      const double distance = std::abs((static_cast<double>(x) + 0.5 - centre) / support);
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

uint8_t to_pixel(float value) {
  return static_cast<uint8_t>(std::clamp(round_half_away(value), 0.0f, 255.0f));
}

// Rows keep their number, columns go from `from` to taps.size().
void resample_rows(const uint8_t* rgb, int64_t from, int64_t rows, const std::vector<Taps>& taps,
                   uint8_t* out) {
  for (int64_t y = 0; y < rows; ++y) {
    const uint8_t* row = rgb + y * from * 3;
    for (const Taps& tap : taps) {
      float sum[3] = {0, 0, 0};
      const uint8_t* pixel = row + tap.first * 3;
      for (const float weight : tap.weights)
        for (float& channel : sum) channel += weight * static_cast<float>(*pixel++);
      for (const float channel : sum) *out++ = to_pixel(channel);
    }
  }
}

void resample_columns(const uint8_t* rgb, int64_t row_bytes, const std::vector<Taps>& taps,
                      uint8_t* out) {
  std::vector<float> sum(static_cast<size_t>(row_bytes));
  for (const Taps& tap : taps) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    const uint8_t* row = rgb + tap.first * row_bytes;
    for (const float weight : tap.weights) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * static_cast<float>(row[i]);
      row += row_bytes;
    }
    for (const float value : sum) *out++ = to_pixel(value);
  }
}

Result<image::Image> allocate(int64_t width, int64_t height) {
  image::Image image{width, height, Buffer::allocate(static_cast<size_t>(width * height * 3))};
  if (!image.pixels.ok()) return Error(Code::OutOfMemory, "no memory to resize an image");
  return image;
}

}  // namespace

Result<image::Image> resample(const image::Image& source, int64_t width, int64_t height) {
  EC_TRY(image::Image wide, allocate(width, source.height));
  const uint8_t* rgb = source.rgb().data();
  if (width == source.width)
    std::memcpy(wide.data(), rgb, wide.pixels.size());
  else
    resample_rows(rgb, source.width, source.height, triangle_taps(source.width, width),
                  wide.data());
  if (height == source.height) return wide;
  EC_TRY(image::Image out, allocate(width, height));
  resample_columns(wide.rgb().data(), width * 3, triangle_taps(source.height, height), out.data());
  return out;
}

Result<image::Image> center_crop(const image::Image& source, int64_t width, int64_t height) {
  EC_TRY(image::Image out, allocate(width, height));
  const int64_t left = (source.width - width) / 2, top = (source.height - height) / 2;
  for (int64_t y = 0; y < height; ++y)
    std::memcpy(out.data() + y * width * 3,
                source.rgb().data() + ((top + y) * source.width + left) * 3,
                static_cast<size_t>(width * 3));
  return out;
}

Result<image::Image> surrounded(const image::Image& source, int64_t width, int64_t height,
                                int64_t left, int64_t top, const std::array<uint8_t, 3>& color) {
  EC_TRY(image::Image out, allocate(width, height));
  uint8_t* pixels = out.data();
  for (int64_t i = 0; i < width * height; ++i) std::memcpy(pixels + 3 * i, color.data(), 3);
  for (int64_t y = 0; y < source.height; ++y)
    std::memcpy(pixels + ((top + y) * width + left) * 3, source.rgb().data() + y * source.width * 3,
                static_cast<size_t>(source.width * 3));
  return out;
}

}  // namespace ec::quantize
