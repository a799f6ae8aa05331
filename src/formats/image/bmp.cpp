// BMP: 1, 4, 8, 16, 24 and 32 bits per pixel without run-length packing, bottom-up or top-down,
// with the headers of OS/2 and Windows (BITMAPCOREHEADER to BITMAPV5HEADER).
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "formats/image/codecs.h"

namespace ec::image {
namespace {

constexpr uint32_t kFileHeader = 14, kCoreHeader = 12, kInfoHeader = 40;
constexpr uint32_t kPlain = 0, kBitFields = 3, kAlphaBitFields = 6;

// A channel of 16- and 32-bit pixels: where its bits are.
struct Channel {
  uint32_t mask = 0;
  uint8_t of(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t maximum = mask >> shift;
    return static_cast<uint8_t>((((pixel & mask) >> shift) * uint64_t{255} + maximum / 2) /
                                maximum);
  }
};

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0, compression = 0;
  uint32_t pixels_at = 0, palette_at = 0, palette_size = 0, palette_entry = 4;
  std::array<Channel, 3> channels;  // red, green, blue
};

class BmpReader {
 public:
  explicit BmpReader(std::span<const std::byte> file) : file_(file) {}

  Result<Image> read() {
    EC_CHECK_OK(read_header());
    EC_CHECK_OK(check_form());
    const int64_t row_bytes = (header_.width * header_.bits + 31) / 32 * 4;
    if (header_.width <= 0 || header_.height <= 0 || header_.width > kMaxSide ||
        header_.height > kMaxSide)
      return allocate(header_.width, header_.height);  // says what is wrong
    if (!has(header_.pixels_at, static_cast<uint64_t>(row_bytes * header_.height)))
      return damaged("BMP: the file ends before its pixels do");
    EC_TRY(Image image, allocate(header_.width, header_.height));
    for (int64_t y = 0; y < header_.height; ++y) {
      const int64_t line = header_.top_down ? y : header_.height - 1 - y;
      const std::byte* from = file_.data() + header_.pixels_at + line * row_bytes;
      read_row(from, image.data() + y * header_.width * 3);
    }
    return image;
  }

 private:
  bool has(uint64_t offset, uint64_t length) const {
    return offset <= file_.size() && length <= file_.size() - offset;
  }
  template <class T>
  T get(uint64_t offset) const {  // requires has(offset, sizeof(T))
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  Status read_header() {
    if (!has(0, kFileHeader + kCoreHeader)) return damaged("BMP: the header is cut off");
    const auto size = get<uint32_t>(kFileHeader);
    header_.pixels_at = get<uint32_t>(10);
    if (!has(kFileHeader, size) || (size != kCoreHeader && size < kInfoHeader))
      return damaged(fmt::format("BMP: header of {} bytes", size));
    header_.palette_at = kFileHeader + size;
    if (size == kCoreHeader) {
      header_.width = get<uint16_t>(18);
      header_.height = get<uint16_t>(20);
      header_.bits = get<uint16_t>(24);
      header_.palette_entry = 3;
    } else {
      header_.width = get<int32_t>(18);
      header_.height = get<int32_t>(22);
      header_.bits = get<uint16_t>(28);
      header_.compression = get<uint32_t>(30);
      header_.palette_size = get<uint32_t>(46);
    }
    header_.top_down = header_.height < 0;
    if (header_.top_down) header_.height = -header_.height;
    return read_masks(size);
  }

  Status read_masks(uint32_t header_size) {
    const bool fields = header_.compression == kBitFields || header_.compression == kAlphaBitFields;
    if (!fields) {
      const bool sixteen = header_.bits == 16;
      header_.channels = {Channel{sixteen ? 0x7c00u : 0xff0000u},
                          Channel{sixteen ? 0x03e0u : 0x00ff00u},
                          Channel{sixteen ? 0x001fu : 0x0000ffu}};
      return {};
    }
    // After the 40 bytes, inside a longer header or behind a short one: the same place.
    if (!has(kFileHeader + kInfoHeader, 12)) return damaged("BMP: the colour masks are cut off");
    for (uint32_t c = 0; c < 3; ++c)
      header_.channels[c].mask = get<uint32_t>(kFileHeader + kInfoHeader + 4 * c);
    if (header_size == kInfoHeader) header_.palette_at += 12;
    return {};
  }

  Status check_form() {
    const uint32_t bits = header_.bits;
    const bool indexed = bits == 1 || bits == 4 || bits == 8;
    const bool direct = bits == 16 || bits == 24 || bits == 32;
    if (!indexed && !direct) return damaged(fmt::format("BMP: {} bits per pixel", bits));
    const bool masks = header_.compression == kBitFields || header_.compression == kAlphaBitFields;
    if (header_.compression != kPlain && !(masks && (bits == 16 || bits == 32)))
      return Error(Code::BadImageFile,
                   fmt::format("BMP: compression {} is not read", header_.compression))
          .hint("save the image without compression, or as PNG");
    if (!indexed) return {};
    if (header_.palette_size == 0 || header_.palette_size > (1u << bits))
      header_.palette_size = 1u << bits;
    if (!has(header_.palette_at, uint64_t{header_.palette_size} * header_.palette_entry))
      return damaged("BMP: the palette is cut off");
    return {};
  }

  void put_indexed(uint32_t index, uint8_t* to) const {
    if (index >= header_.palette_size) index = 0;
    const uint64_t at = header_.palette_at + uint64_t{index} * header_.palette_entry;
    for (uint64_t c = 0; c < 3; ++c) to[c] = get<uint8_t>(at + 2 - c);
  }

  void read_row(const std::byte* row, uint8_t* to) const {
    const auto* from = reinterpret_cast<const uint8_t*>(row);
    const uint32_t bits = header_.bits;
    for (int64_t x = 0; x < header_.width; ++x, to += 3) {
      if (bits <= 8) {
        const int64_t bit = x * bits;
        const auto shift = static_cast<uint32_t>(8 - bits - bit % 8);
        put_indexed((uint32_t{from[bit / 8]} >> shift) & ((1u << bits) - 1), to);
      } else if (bits == 24) {
        for (int64_t c = 0; c < 3; ++c) to[c] = from[3 * x + 2 - c];
      } else {
        uint32_t pixel = 0;
        std::memcpy(&pixel, from + x * (bits / 8), bits / 8);
        for (size_t c = 0; c < 3; ++c) to[c] = header_.channels[c].of(pixel);
      }
    }
  }

  std::span<const std::byte> file_;
  Header header_;
};

}  // namespace

Result<Image> decode_bmp(std::span<const std::byte> file) { return BmpReader(file).read(); }

}  // namespace ec::image
