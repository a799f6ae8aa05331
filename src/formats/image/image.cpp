#include "formats/image/image.h"

#include <fmt/format.h>

#include <cstring>

#include "formats/image/codecs.h"
#include "support/input_file.h"

namespace ec::image {
namespace {

struct Codec {
  std::string_view magic;
  Result<Image> (*decode)(std::span<const std::byte> file);
};

constexpr Codec kCodecs[] = {
    {"\xff\xd8\xff", decode_jpeg},
    {"\x89PNG\r\n\x1a\n", decode_png},
    {"BM", decode_bmp},
    {"P2", decode_pnm},
    {"P3", decode_pnm},
    {"P5", decode_pnm},
    {"P6", decode_pnm},
};

const Codec* find_codec(std::span<const std::byte> file) {
  for (const Codec& codec : kCodecs)
    if (file.size() >= codec.magic.size() &&
        std::memcmp(file.data(), codec.magic.data(), codec.magic.size()) == 0)
      return &codec;
  return nullptr;
}

}  // namespace

Error damaged(std::string message) {
  return Error(Code::BadImageFile, std::move(message))
      .hint("open the file in an image viewer; replace it, or leave it out");
}

Result<Image> allocate(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0)
    return damaged(fmt::format("the image is {} x {} pixels", width, height));
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixels)
    return Error(Code::TooLarge, fmt::format("the image is {} x {} pixels; the limit is {} "
                                             "million pixels",
                                             width, height, kMaxPixels >> 20))
        .hint("make the image smaller: the network sees a few hundred pixels a side");
  Image image{width, height, Buffer::allocate(static_cast<size_t>(width * height * 3))};
  if (!image.pixels.ok())
    return Error(Code::OutOfMemory,
                 fmt::format("no memory for an image of {} x {} pixels", width, height));
  return image;
}

bool looks_like_image(std::span<const std::byte> file) { return find_codec(file) != nullptr; }

Result<Image> decode(std::span<const std::byte> file) {
  const Codec* codec = find_codec(file);
  if (!codec)
    return Error(Code::BadImageFile, "the content is no JPEG, PNG, BMP, PPM or PGM image")
        .hint("convert the file to one of these formats");
  return codec->decode(file);
}

Result<Image> load(const std::filesystem::path& path) {
  EC_TRY(const Blob file, read_file(path));
  Result<Image> image = decode(file.bytes());
  if (!image) return std::move(image).error().file(path.string());
  return image;
}

}  // namespace ec::image
