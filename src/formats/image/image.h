// Images as calibration and evaluation data: JPEG, PNG, BMP, PPM and PGM to 8-bit RGB.
//
// The format is told by content. Grey becomes three equal channels, transparency is dropped, 16-bit
// samples are scaled to 8 bits; orientation tags and colour profiles are not applied (as Pillow and
// OpenCV do by default when they convert to RGB).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "support/blob.h"
#include "support/result.h"

namespace ec::image {

// Larger images are refused: their size alone would exhaust memory.
inline constexpr int64_t kMaxPixels = int64_t{1} << 26;
inline constexpr int64_t kMaxSide = 65535;

struct Image {
  int64_t width = 0, height = 0;
  Buffer pixels;  // height x width x 3, row by row

  std::span<const uint8_t> rgb() const {
    return {reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()};
  }
  uint8_t* data() { return reinterpret_cast<uint8_t*>(pixels.data()); }
};

// Whether the first bytes are those of a format that decode() reads.
bool looks_like_image(std::span<const std::byte> file);
// Errors: BadImageFile (not an image, damaged, or a form that is not read), TooLarge, OutOfMemory.
Result<Image> decode(std::span<const std::byte> file);
// With the file's name on the error.
Result<Image> load(const std::filesystem::path& path);

}  // namespace ec::image
