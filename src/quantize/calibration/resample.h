// Resizing of images with an antialiasing triangle filter: what Pillow and torchvision call
// bilinear.
#pragma once

#include <array>

#include "formats/image/image.h"
#include "support/result.h"

namespace ec::quantize {

Result<image::Image> resample(const image::Image& source, int64_t width, int64_t height);
// The middle width x height pixels; requires an image at least as large.
Result<image::Image> center_crop(const image::Image& source, int64_t width, int64_t height);

// The image at (left, top) of width x height pixels of one colour, in which it must lie.
Result<image::Image> surrounded(const image::Image& source, int64_t width, int64_t height,
                                int64_t left, int64_t top, const std::array<uint8_t, 3>& color);

}  // namespace ec::quantize
