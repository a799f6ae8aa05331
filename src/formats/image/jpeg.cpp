// JPEG through libjpeg. Its errors leave by longjmp, so the functions that call setjmp hold plain
// data only; what owns memory lives in their callers.
#include <cstdio>  // jpeglib.h needs FILE
// jpeglib.h needs <cstdio> first.
#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>

#include "formats/image/codecs.h"

namespace ec::image {
namespace {

// A progressive file may ask for any number of passes over the image; honest ones have about ten.
constexpr int kMaxScans = 200;

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";
  bool damaged = false;  // decoded, but part of the image is invented

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  info->err->format_message(info, decoder.message);
  std::longjmp(decoder.escape, 1);
}

// Harmless oddities of real encoders pass; missing or broken image data does not.
void take_warning(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      break;
  }
  Decoder& decoder = decoder_of(info);
  if (!decoder.damaged) info->err->format_message(info, decoder.message);
  decoder.damaged = true;
}

void discard_message(j_common_ptr) {}

void limit_scans(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  if (decoder.info.input_scan_number <= kMaxScans) return;
  fmt::format_to_n(decoder.message, sizeof decoder.message - 1, "more than {} scans", kMaxScans);
  std::longjmp(decoder.escape, 1);
}

bool read_header(Decoder& decoder, const unsigned char* data, unsigned long size) {
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = take_warning;
  decoder.errors.output_message = discard_message;
  decoder.progress.progress_monitor = limit_scans;
  if (setjmp(decoder.escape)) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.info.client_data = &decoder;  // creation clears it
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, data, size);
  jpeg_read_header(&decoder.info, TRUE);
  const bool four = decoder.info.num_components == 4;
  decoder.info.out_color_space = four ? JCS_CMYK : JCS_RGB;
  // The exact transform: the same bytes on every machine and in other tools.
  decoder.info.dct_method = JDCT_ISLOW;
  return true;
}

// Adobe writes inverted inks: 255 is none.
void cmyk_to_rgb(const unsigned char* from, uint8_t* to, size_t count, bool inverted) {
  for (size_t i = 0; i < count; ++i, from += 4, to += 3) {
    const int k = inverted ? from[3] : 255 - from[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? from[c] : 255 - from[c];
      to[c] = static_cast<uint8_t>((ink * k + 127) / 255);
    }
  }
}

// `row` has room for one line of four components.
bool read_pixels(Decoder& decoder, uint8_t* pixels, unsigned char* row) {
  if (setjmp(decoder.escape)) return false;
  jpeg_decompress_struct& info = decoder.info;
  jpeg_start_decompress(&info);
  const size_t width = info.output_width;
  const bool four = info.output_components == 4;
  while (info.output_scanline < info.output_height) {
    uint8_t* to = pixels + static_cast<size_t>(info.output_scanline) * width * 3;
    JSAMPROW line = four ? row : to;
    jpeg_read_scanlines(&info, &line, 1);
    if (four) cmyk_to_rgb(row, to, width, info.saw_Adobe_marker != 0);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Error jpeg_error(const Decoder& decoder) {
  return damaged(fmt::format("JPEG: {}", decoder.message));
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> file) {
  Decoder decoder;
  if (!read_header(decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size()))
    return jpeg_error(decoder);
  EC_TRY(Image image, allocate(decoder.info.image_width, decoder.info.image_height));
  Buffer row = Buffer::allocate(static_cast<size_t>(image.width) * 4);
  if (!row.ok()) return Error(Code::OutOfMemory, "no memory to decode an image");
  if (!read_pixels(decoder, image.data(), reinterpret_cast<unsigned char*>(row.data())) ||
      decoder.damaged)
    return jpeg_error(decoder);
  return image;
}

}  // namespace ec::image
