#include "formats/image/image.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "image_files.h"

namespace ec {
namespace {

using test::bytes_of;
using test::gradient;
using test::Pixels;

void expect_pixels(const std::string& file, const Pixels& expected, int tolerance) {
  const Result<image::Image> image = image::decode(bytes_of(file));
  ASSERT_TRUE(image.ok()) << image.error().message();
  ASSERT_EQ(image->width, expected.width);
  ASSERT_EQ(image->height, expected.height);
  const auto rgb = image->rgb();
  ASSERT_EQ(rgb.size(), expected.rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i)
    ASSERT_LE(std::abs(rgb[i] - expected.rgb[i]), tolerance) << "sample " << i;
}

Code code_of(const std::string& file) {
  const Result<image::Image> image = image::decode(bytes_of(file));
  return image.ok() ? Code{} : image.error().code();
}

TEST(Image, LosslessFormatsKeepEveryPixel) {
  const Pixels pixels = gradient(13, 7);
  expect_pixels(test::png_of(pixels), pixels, 0);
  expect_pixels(test::png_of(pixels, true), pixels, 0);
  expect_pixels(test::ppm_of(pixels), pixels, 0);
  expect_pixels(test::bmp_of(pixels), pixels, 0);
  expect_pixels(test::bmp_of(pixels, true), pixels, 0);
}

TEST(Image, JpegIsWithinAFewSteps) {
  const Pixels pixels = gradient(40, 24);
  expect_pixels(test::jpeg_of(pixels), pixels, 8);
  expect_pixels(test::jpeg_of(pixels, true), pixels, 8);
}

TEST(Image, GreyAndPalettesBecomeRgb) {
  const Pixels pixels = gradient(16, 16);
  Pixels grey = pixels;
  for (size_t i = 0; i < grey.rgb.size(); ++i) grey.rgb[i] = pixels.rgb[i / 3 * 3];
  expect_pixels(test::jpeg_of(pixels, false, true), grey, 3);

  const Result<image::Image> palette = image::decode(bytes_of(test::png_palette(5, 3)));
  ASSERT_TRUE(palette.ok());
  EXPECT_EQ(palette->rgb()[3], 255);      // (1, 0): red
  EXPECT_EQ(palette->rgb()[6 + 1], 128);  // (2, 0): green
  EXPECT_EQ(palette->rgb()[9 + 2], 64);   // (3, 0): blue

  const Result<image::Image> deep = image::decode(bytes_of(test::png_grey16_alpha(2, 2)));
  ASSERT_TRUE(deep.ok());
  for (const uint8_t sample : deep->rgb()) EXPECT_EQ(sample, 0x80);
}

TEST(Image, PortableMapsOfEveryKind) {
  expect_pixels("P3 2 1 255  1 2 3  4 5 6", {2, 1, {1, 2, 3, 4, 5, 6}}, 0);
  expect_pixels("P2 2 1 15 0 15", {2, 1, {0, 0, 0, 255, 255, 255}}, 0);
  expect_pixels(std::string("P5 1 2 65535\n\x00\x00\xff\xff", 17), {1, 2, {0, 0, 0, 255, 255, 255}},
                0);
}

TEST(Image, BitmapsWithPaletteAndMasks) {
  const auto header = [](int bits, uint32_t compression, uint32_t pixels_at) {
    std::string out("BM\0\0\0\0\0\0\0\0", 10);
    const auto put = [&](auto value) {
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(pixels_at), put(uint32_t{40}), put(int32_t{2}), put(int32_t{1}), put(uint16_t{1});
    put(static_cast<uint16_t>(bits)), put(compression);
    for (int i = 0; i < 5; ++i) put(uint32_t{0});
    return out;
  };
  std::string one_bit = header(1, 0, 62) + std::string("\x01\x02\x03\x00\x0a\x0b\x0c\x00", 8);
  one_bit += std::string("\x40\0\0\0", 4);  // indices 0, 1
  expect_pixels(one_bit, {2, 1, {3, 2, 1, 12, 11, 10}}, 0);
  std::string masks = header(16, 3, 66);
  for (const uint32_t mask : {0xf800u, 0x07e0u, 0x001fu})
    masks.append(reinterpret_cast<const char*>(&mask), 4);
  masks += std::string("\x00\xf8\x1f\x00", 4);
  expect_pixels(masks, {2, 1, {255, 0, 0, 0, 0, 255}}, 0);
  EXPECT_EQ(code_of(header(8, 1, 54) + std::string(2000, '\0')), Code::BadImageFile);  // packed
}

TEST(Image, RefusesWhatIsNoImage) {
  EXPECT_EQ(code_of("hello"), Code::BadImageFile);
  EXPECT_EQ(code_of(""), Code::BadImageFile);
  EXPECT_EQ(code_of("P6"), Code::BadImageFile);
  EXPECT_EQ(code_of("P6 0 4 255\n"), Code::BadImageFile);
  EXPECT_EQ(code_of("BM"), Code::BadImageFile);
  EXPECT_FALSE(image::looks_like_image(bytes_of("GIF89a")));
}

TEST(Image, RefusesSizesBeyondTheLimitBeforeAllocating) {
  std::string png = test::png_of(gradient(8, 8));
  // The size stands at bytes 16 to 23; without a right checksum libpng refuses the header first.
  png.replace(16, 8, std::string("\0\0\xff\xff\0\0\xff\xff", 8));
  EXPECT_NE(code_of(png), Code{});
  std::string jpeg = test::jpeg_of(gradient(8, 8));
  const size_t frame = jpeg.find(std::string("\xff\xc0", 2));
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, std::string("\xff\0\xff\0", 4));
  EXPECT_EQ(code_of(jpeg), Code::TooLarge);
}

TEST(Image, TruncatedFilesAreErrors) {
  const Pixels pixels = gradient(64, 64);
  for (const std::string& file : {test::jpeg_of(pixels), test::jpeg_of(pixels, true),
                                  test::png_of(pixels), test::bmp_of(pixels), test::ppm_of(pixels)})
    for (const size_t length : {size_t{3}, file.size() / 4, file.size() / 2, file.size() * 3 / 4})
      EXPECT_NE(code_of(file.substr(0, length)), Code{}) << length << " of " << file.size();
}

TEST(Image, DamagedFilesNeverCrash) {
  std::mt19937 random(1);
  const Pixels pixels = gradient(24, 24);
  for (const std::string& file :
       {test::jpeg_of(pixels), test::jpeg_of(pixels, true), test::png_of(pixels, true),
        test::png_palette(9, 9), test::bmp_of(pixels), test::ppm_of(pixels)})
    for (int round = 0; round < 400; ++round) {
      std::string changed = file;
      for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
      const Result<image::Image> image = image::decode(bytes_of(changed));
      if (!image.ok()) {
        EXPECT_FALSE(image.error().message().empty());
      }
    }
}

}  // namespace
}  // namespace ec
