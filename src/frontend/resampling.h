// Resizing along one axis as a product with a constant matrix, for kernels that the op `resize`
// does not have: every element of the result is a fixed sum of elements of the input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/graph_builder.h"

namespace ec {

// How much an input element counts by its distance from the place that is sampled. The names are
// TensorFlow's.
enum class ResampleKernel : uint8_t {
  Lanczos1,
  Lanczos3,
  Lanczos5,
  Gaussian,
  Box,
  Triangle,
  KeysCubic,
  MitchellCubic,
};
std::optional<ResampleKernel> resample_kernel(std::string_view name);

// Output element o samples the input at (o + 0.5 - translation) / scale, elements having their
// centres at halves.
struct Resampling {
  ResampleKernel kernel = ResampleKernel::Triangle;
  int64_t input = 1, output = 1;
  float scale = 1.0f, translation = 0.0f;
  bool antialias = false;  // the kernel is stretched where the image shrinks
};

// [output, input]: the weights of the input's elements in each element of the output.
std::vector<float> resampling_matrix(const Resampling& resampling);
// The same for the mean over the stretch of input, `step` long, that an output element covers.
std::vector<float> area_matrix(int64_t input, int64_t output, float step);

// The input resampled along an axis. `room`: bytes that matrices may still take, as a few bytes of
// a hostile file can ask for large ones.
Tensor* resample(GraphBuilder& builder, Tensor* x, int64_t axis, const Resampling& resampling,
                 size_t& room);
Tensor* resample_area(GraphBuilder& builder, Tensor* x, int64_t axis, int64_t output, float step,
                      size_t& room);

}  // namespace ec
