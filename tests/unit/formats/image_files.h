// Small pictures written by the libraries themselves, for tests of their readers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ec::test {

struct Pixels {
  int width, height;
  std::vector<uint8_t> rgb;
};

// A smooth picture: JPEG keeps it within a few steps.
Pixels gradient(int width, int height);

std::string jpeg_of(const Pixels& pixels, bool progressive = false, bool grey = false);
std::string png_of(const Pixels& pixels, bool interlaced = false);
std::string png_palette(int width, int height);  // pixel (x, y) has colour (x + y) % 4
std::string png_grey16_alpha(int width, int height);
std::string ppm_of(const Pixels& pixels);
std::string bmp_of(const Pixels& pixels, bool top_down = false);

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace ec::test
