#include "frontend/resampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "support/checked.h"

namespace ec {
namespace {

float lanczos(float x, float radius) {
  if (x > radius) return 0.0f;
  if (x <= 1e-3f) return 1.0f;
  const float at = std::numbers::pi_v<float> * x;
  return radius * std::sin(at) * std::sin(at / radius) / (at * at);
}

float gaussian(float x) {
  constexpr float kRadius = 1.5f, kSigma = kRadius / 3.0f;
  return x >= kRadius ? 0.0f : std::exp(-x * x / (2.0f * kSigma * kSigma));
}

float box(float x) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }

float keys_cubic(float x) {
  if (x >= 2.0f) return 0.0f;
  if (x >= 1.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

float mitchell_cubic(float x) {
  if (x >= 2.0f) return 0.0f;
  if (x >= 1.0f) return ((-7.0f / 18.0f * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return ((7.0f / 6.0f * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

struct Kernel {
  std::string_view name;
  float radius;
};

constexpr Kernel kKernels[] = {
    {"lanczos1", 1.0f}, {"lanczos3", 3.0f}, {"lanczos5", 5.0f},  {"gaussian", 1.5f},
    {"box", 1.0f},      {"triangle", 1.0f}, {"keyscubic", 2.0f}, {"mitchellcubic", 2.0f},
};

float weight_at(ResampleKernel kernel, float x) {
  switch (kernel) {
    case ResampleKernel::Lanczos1:
    case ResampleKernel::Lanczos3:
    case ResampleKernel::Lanczos5:
      return lanczos(x, kKernels[static_cast<size_t>(kernel)].radius);
    case ResampleKernel::Gaussian:
      return gaussian(x);
    case ResampleKernel::Box:
      return box(x);
    case ResampleKernel::Triangle:
      return std::max(0.0f, 1.0f - x);
    case ResampleKernel::KeysCubic:
      return keys_cubic(x);
    case ResampleKernel::MitchellCubic:
      return mitchell_cubic(x);
  }
  return 0.0f;
}

// An element of a list of `size`, for a position that may lie far outside.
int64_t clamped(float position, int64_t size) {
  return static_cast<int64_t>(std::clamp(position, 0.0f, static_cast<float>(size - 1)));
}

// Counts the bytes of a matrix; a problem where they are too many.
bool take_room(GraphBuilder& b, int64_t input, int64_t output, size_t& room) {
  constexpr int64_t kMaxSide = 1 << 15;
  const bool small = input > 0 && output > 0 && input <= kMaxSide && output <= kMaxSide;
  const size_t bytes = small ? static_cast<size_t>(input * output) * sizeof(float) : 0;
  if (small && bytes <= room) {
    room -= bytes;
    return true;
  }
  b.fail(Code::TooLarge, "resizing " + std::to_string(input) + " elements to " +
                             std::to_string(output) + " with this kernel needs too large a table");
  return false;
}

// The matrix [output, input] applied along an axis.
Tensor* apply_along(GraphBuilder& b, Tensor* x, int64_t axis, int64_t output,
                    const std::vector<float>& matrix) {
  if (!b.ok()) return x;
  const int64_t rank = b.rank(x), input = static_cast<int64_t>(matrix.size()) / output;
  Tensor* weights = b.floats(Shape{Dim(output), Dim(input)}, matrix);
  if (axis == rank - 1) return b.matmul(x, weights, true);
  if (axis == rank - 2) return b.matmul(weights, x);
  // What lies behind the axis is one dimension for the product.
  Ints behind;
  Sizes flat, whole = b.sizes(x);
  for (int64_t i = 0; i < axis; ++i) flat.emplace_back(x, i);
  for (int64_t i = axis + 1; i < rank; ++i) behind.push_back(b.size(x, i));
  const auto extent = checked_extent(behind, 1);
  if (!extent) return b.fail(Code::TooLarge, "the image is too large");
  flat.emplace_back(input);
  flat.emplace_back(*extent);
  b.set(whole, axis, Size(output));
  return b.reshape(b.matmul(weights, b.reshape(x, flat)), whole);
}

}  // namespace

std::optional<ResampleKernel> resample_kernel(std::string_view name) {
  const auto* found = std::ranges::find(kKernels, name, &Kernel::name);
  if (found == std::end(kKernels)) return std::nullopt;
  return static_cast<ResampleKernel>(found - kKernels);
}

std::vector<float> resampling_matrix(const Resampling& r) {
  std::vector<float> matrix(static_cast<size_t>(r.output * r.input), 0.0f);
  const float inverse = 1.0f / r.scale;
  const float stretch = r.antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = kKernels[static_cast<size_t>(r.kernel)].radius * stretch;
  for (int64_t o = 0; o < r.output; ++o) {
    const float at = (static_cast<float>(o) + 0.5f) * inverse - inverse * r.translation;
    // Nothing is sampled outside the image.
    if (!(at >= 0.0f && at <= static_cast<float>(r.input))) continue;
    const int64_t first = clamped(std::ceil(at - reach - 0.5f), r.input);
    const int64_t last = clamped(std::floor(at + reach - 0.5f), r.input);
    float* row = matrix.data() + o * r.input;
    float sum = 0.0f;
    for (int64_t i = first; i <= last; ++i) {
      row[i] = weight_at(r.kernel, std::abs(static_cast<float>(i) + 0.5f - at) / stretch);
      sum += row[i];
    }
    const bool vanishes = std::abs(sum) < 1000.0f * std::numeric_limits<float>::min();
    for (int64_t i = first; i <= last; ++i) row[i] = vanishes ? 0.0f : row[i] / sum;
  }
  return matrix;
}

std::vector<float> area_matrix(int64_t input, int64_t output, float step) {
  std::vector<float> matrix(static_cast<size_t>(output * input), 0.0f);
  for (int64_t o = 0; o < output; ++o) {
    const float begin = static_cast<float>(o) * step, end = static_cast<float>(o + 1) * step;
    float* row = matrix.data() + o * input;
    for (float at = std::floor(begin); at < end; at += 1.0f)
      row[clamped(at, input)] += (std::min(at + 1.0f, end) - std::max(at, begin)) / step;
  }
  return matrix;
}

Tensor* resample(GraphBuilder& b, Tensor* x, int64_t axis, const Resampling& r, size_t& room) {
  if (!b.ok()) return x;
  if (!(r.scale > 0.0f) || !std::isfinite(r.scale) || !std::isfinite(r.translation))
    return b.fail(Code::BadValue, "a scale should be positive and finite");
  if (!take_room(b, r.input, r.output, room)) return x;
  return apply_along(b, x, axis, r.output, resampling_matrix(r));
}

Tensor* resample_area(GraphBuilder& b, Tensor* x, int64_t axis, int64_t output, float step,
                      size_t& room) {
  const int64_t input = b.size(x, axis);
  if (!b.ok() || !take_room(b, input, output, room)) return x;
  return apply_along(b, x, axis, output, area_matrix(input, output, step));
}

}  // namespace ec
