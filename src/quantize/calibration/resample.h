// Resizing of images with an antialiasing triangle filter: what Pillow and torchvision call
// bilinear.
#pragma once

#include "formats/image/image.h"
#include "support/result.h"

namespace ec::quantize {

Result<image::Image> resample(const image::Image& source, int64_t width, int64_t height);
// The middle width x height pixels; requires an image at least as large.
Result<image::Image> center_crop(const image::Image& source, int64_t width, int64_t height);

}  // namespace ec::quantize
