// PNG through libpng. Its errors leave by longjmp, so the functions that call setjmp hold plain
// data only; what owns memory lives in their callers.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "formats/image/codecs.h"

namespace ec::image {
namespace {

// Memory that one compressed text or profile chunk may ask for; no image needs them.
constexpr png_alloc_size_t kMaxChunkBytes = 8u << 20;

struct Decoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  std::jmp_buf escape{};
  char message[160] = "";

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void leave(png_structp png, png_const_charp text) {
  auto& decoder = *static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder.message, text, sizeof decoder.message - 1);
  std::longjmp(decoder.escape, 1);
}

void discard_warning(png_structp, png_const_charp) {}

void take_bytes(png_structp png, png_bytep to, size_t count) {
  auto& decoder = *static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > decoder.rest.size()) png_error(png, "the file ends too early");
  std::memcpy(to, decoder.rest.data(), count);
  decoder.rest = decoder.rest.subspan(count);
}

// Any PNG as 8-bit RGB.
void ask_for_rgb(Decoder& decoder) {
  png_set_expand(decoder.png);  // palettes, 1, 2 and 4 bits, transparent colours
  png_set_scale_16(decoder.png);
  png_set_gray_to_rgb(decoder.png);
  png_set_strip_alpha(decoder.png);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
}

bool read_header(Decoder& decoder) {
  if (setjmp(decoder.escape)) return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, leave, discard_warning);
  decoder.info = decoder.png ? png_create_info_struct(decoder.png) : nullptr;
  if (!decoder.info) return false;
  png_set_read_fn(decoder.png, &decoder, take_bytes);
  png_set_user_limits(decoder.png, kMaxSide, kMaxSide);
  png_set_chunk_malloc_max(decoder.png, kMaxChunkBytes);
  png_read_info(decoder.png, decoder.info);
  return true;
}

bool read_pixels(Decoder& decoder, png_bytepp rows) {
  if (setjmp(decoder.escape)) return false;
  ask_for_rgb(decoder);
  const auto width = static_cast<size_t>(png_get_image_width(decoder.png, decoder.info));
  if (png_get_rowbytes(decoder.png, decoder.info) != width * 3)
    png_error(decoder.png, "unexpected form of pixels");
  png_read_image(decoder.png, rows);
  png_read_end(decoder.png, nullptr);
  return true;
}

Error png_failure(const Decoder& decoder) {
  return damaged(
      fmt::format("PNG: {}", decoder.message[0] ? decoder.message : "cannot be decoded"));
}

}  // namespace

Result<Image> decode_png(std::span<const std::byte> file) {
  Decoder decoder;
  decoder.rest = file;
  if (!read_header(decoder)) return png_failure(decoder);
  EC_TRY(Image image, allocate(png_get_image_width(decoder.png, decoder.info),
                               png_get_image_height(decoder.png, decoder.info)));
  std::vector<png_bytep> rows(static_cast<size_t>(image.height));
  for (size_t y = 0; y < rows.size(); ++y)
    rows[y] = image.data() + y * static_cast<size_t>(image.width) * 3;
  if (!read_pixels(decoder, rows.data())) return png_failure(decoder);
  return image;
}

}  // namespace ec::image
