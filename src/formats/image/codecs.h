// The decoders behind image.h, and what they share. Private to formats/image.
#pragma once

#include <string>

#include "formats/image/image.h"

namespace ec::image {

Result<Image> decode_jpeg(std::span<const std::byte> file);
Result<Image> decode_png(std::span<const std::byte> file);
Result<Image> decode_bmp(std::span<const std::byte> file);
Result<Image> decode_pnm(std::span<const std::byte> file);

// Memory for an image of a size that a file claims; checked before anything is allocated.
Result<Image> allocate(int64_t width, int64_t height);

Error damaged(std::string message);

}  // namespace ec::image
