#include "image_files.h"

#include <cstdio>
#include <cstdlib>
// jpeglib.h needs FILE.
#include <jpeglib.h>
#include <png.h>

namespace ec::test {
namespace {

void append(png_structp png, png_bytep data, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

struct PngForm {
  int bits, color_type, interlace;
};

std::string write_png(int width, int height, const PngForm& form, size_t row_bytes,
                      std::vector<uint8_t> samples) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               form.bits, form.color_type, form.interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {0, 128, 0}, {0, 0, 64}};
  if (form.color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (size_t y = 0; y < static_cast<size_t>(height); ++y)
    rows.push_back(samples.data() + y * row_bytes);
  png_set_interlace_handling(png);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Pixels gradient(int width, int height) {
  Pixels pixels{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {x * 200 / width, y * 200 / height, 100})
        pixels.rgb.push_back(static_cast<uint8_t>(value));
  return pixels;
}

std::string jpeg_of(const Pixels& pixels, bool progressive, bool grey) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(pixels.width);
  info.image_height = static_cast<JDIMENSION>(pixels.height);
  info.input_components = grey ? 1 : 3;
  info.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> row(static_cast<size_t>(pixels.width) * 3);
  while (info.next_scanline < info.image_height) {
    const uint8_t* from = pixels.rgb.data() + static_cast<size_t>(info.next_scanline) * row.size();
    for (size_t i = 0; i < row.size(); ++i) row[i] = from[i];
    if (grey)
      for (size_t x = 0; x < row.size() / 3; ++x) row[x] = from[3 * x];
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<const char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);  // allocated by jpeg_mem_dest
  return out;
}

std::string png_of(const Pixels& pixels, bool interlaced) {
  return write_png(pixels.width, pixels.height,
                   {8, PNG_COLOR_TYPE_RGB, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE},
                   static_cast<size_t>(pixels.width) * 3, pixels.rgb);
}

std::string png_palette(int width, int height) {
  std::vector<uint8_t> samples;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) samples.push_back(static_cast<uint8_t>((x + y) % 4));
  return write_png(width, height, {8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE},
                   static_cast<size_t>(width), std::move(samples));
}

std::string png_grey16_alpha(int width, int height) {
  std::vector<uint8_t> samples;
  for (int i = 0; i < width * height; ++i)
    for (const int value : {0x80, 0x80, 0x12, 0x34}) samples.push_back(static_cast<uint8_t>(value));
  return write_png(width, height, {16, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_INTERLACE_NONE},
                   static_cast<size_t>(width) * 4, std::move(samples));
}

std::string ppm_of(const Pixels& pixels) {
  std::string out = "P6\n# a comment\n" + std::to_string(pixels.width) + " " +
                    std::to_string(pixels.height) + "\n255\n";
  out.append(reinterpret_cast<const char*>(pixels.rgb.data()), pixels.rgb.size());
  return out;
}

std::string bmp_of(const Pixels& pixels, bool top_down) {
  const int row = (pixels.width * 3 + 3) / 4 * 4;
  std::string out = "BM";
  put<uint32_t>(out, static_cast<uint32_t>(54 + row * pixels.height));
  put<uint32_t>(out, 0);
  put<uint32_t>(out, 54);
  put<uint32_t>(out, 40);
  put<int32_t>(out, pixels.width);
  put<int32_t>(out, top_down ? -pixels.height : pixels.height);
  put<uint16_t>(out, 1);
  put<uint16_t>(out, 24);
  for (int i = 0; i < 6; ++i) put<uint32_t>(out, 0);
  for (int line = 0; line < pixels.height; ++line) {
    const int y = top_down ? line : pixels.height - 1 - line;
    std::string bytes(static_cast<size_t>(row), '\0');
    for (int x = 0; x < pixels.width; ++x)
      for (int c = 0; c < 3; ++c)
        bytes[static_cast<size_t>(3 * x + 2 - c)] =
            static_cast<char>(pixels.rgb[static_cast<size_t>((y * pixels.width + x) * 3 + c)]);
    out += bytes;
  }
  return out;
}

}  // namespace ec::test
