#include "quantize/calibration/preprocess.h"

#include <gtest/gtest.h>

#include "quantize/calibration/picture_fit.h"
#include "quantize/calibration/resample.h"

namespace ec::quantize {
namespace {

image::Image picture_of(int64_t width, int64_t height, std::vector<uint8_t> rgb) {
  image::Image image{width, height, Buffer::allocate(rgb.size())};
  std::copy(rgb.begin(), rgb.end(), image.data());
  return image;
}

// Pixel (x, y) is (x, y, 7).
image::Image numbered(int64_t width, int64_t height) {
  std::vector<uint8_t> rgb;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (const int64_t v : {x, y, int64_t{7}}) rgb.push_back(static_cast<uint8_t>(v));
  return picture_of(width, height, std::move(rgb));
}

ModelInput input_of(std::vector<int64_t> shape, DType dtype = DType::F32) {
  return {"x", TensorType(dtype, Shape::of(shape))};
}

Value value_of(const image::Image& picture, const ModelInput& input, const Preprocessing& p) {
  const Result<ImageForm> form = image_form(input, p);
  EXPECT_TRUE(form.ok()) << form.error().message();
  Result<Value> value = preprocess(picture, *form, p);
  EXPECT_TRUE(value.ok());
  return std::move(*value);
}

TEST(Preprocess, PixelsAreZeroToOneByDefault) {
  const image::Image picture = picture_of(1, 1, {0, 51, 255});
  const Value value = value_of(picture, input_of({1, 3, 1, 1}), {});
  EXPECT_FLOAT_EQ(value.as<float>()[0], 0.0f);
  EXPECT_FLOAT_EQ(value.as<float>()[1], 0.2f);
  EXPECT_FLOAT_EQ(value.as<float>()[2], 1.0f);
}

TEST(Preprocess, MeanAndStdOfEitherRange) {
  const image::Image picture = picture_of(1, 1, {0, 255, 102});
  Preprocessing wide;
  wide.mean = wide.std = {127.5};
  Preprocessing unit;
  unit.mean = unit.std = {0.5, 0.5, 0.5};
  for (const Preprocessing& p : {wide, unit}) {
    const Value value = value_of(picture, input_of({1, 3, 1, 1}), p);
    EXPECT_FLOAT_EQ(value.as<float>()[0], -1.0f);
    EXPECT_FLOAT_EQ(value.as<float>()[1], 1.0f);
    EXPECT_NEAR(value.as<float>()[2], -0.2f, 1e-6f);
  }
  Preprocessing declared;
  declared.pixel_range = 255;
  EXPECT_FLOAT_EQ(value_of(picture, input_of({1, 3, 1, 1}), declared).as<float>()[1], 255.0f);
}

TEST(Preprocess, LayoutAndColour) {
  const image::Image picture = numbered(4, 4);
  Preprocessing p;
  p.pixel_range = 255;
  const Value first = value_of(picture, input_of({1, 3, 4, 4}), p);
  EXPECT_EQ(first.as<float>()[1], 1.0f);       // red of (1, 0)
  EXPECT_EQ(first.as<float>()[16 + 4], 1.0f);  // green of (0, 1)
  const Value last = value_of(picture, input_of({1, 4, 4, 3}), p);
  EXPECT_EQ(last.as<float>()[3], 1.0f);
  EXPECT_EQ(last.as<float>()[2], 7.0f);
  p.color = ColorOrder::Bgr;
  EXPECT_EQ(value_of(picture, input_of({4, 4, 3}), p).as<float>()[0], 7.0f);
}

TEST(Preprocess, BatchRepeatsAndGreyIsLuma) {
  const image::Image picture = picture_of(1, 1, {255, 0, 0});
  Preprocessing p;
  p.pixel_range = 255;
  const Value value = value_of(picture, input_of({2, 1, 1, 1}), [&] {
    Preprocessing q = p;
    q.layout = Layout::ChannelsFirst;
    return q;
  }());
  EXPECT_EQ(value.as<float>()[0], 76.0f);
  EXPECT_EQ(value.as<float>()[1], 76.0f);
}

TEST(Preprocess, IntegerInputsTakePixels) {
  const image::Image picture = picture_of(1, 1, {0, 128, 255});
  EXPECT_EQ(value_of(picture, input_of({1, 1, 1, 3}, DType::U8),
                     [] {
                       Preprocessing p;
                       p.layout = Layout::ChannelsLast;
                       return p;
                     }())
                .as<uint8_t>()[2],
            255);
}

// Boxes come back to the picture by the same rule that brought it to the input.
TEST(PictureFit, FollowsTheResize) {
  Preprocessing p;
  const Result<ImageForm> form = image_form(input_of({1, 3, 64, 32}), p);
  ASSERT_TRUE(form.ok());
  p.resize = ResizeMode::Stretch;
  const PictureFit stretched = picture_fit(128, 32, *form, p);
  EXPECT_EQ(stretched.scale_x, 0.25);
  EXPECT_EQ(stretched.scale_y, 2.0);
  EXPECT_EQ(stretched.left, 0);
  // To cover 32x64, 128x32 becomes 256x64, of which the middle 32 columns stay.
  p.resize = ResizeMode::Crop;
  const PictureFit cropped = picture_fit(128, 32, *form, p);
  EXPECT_EQ(cropped.width, 256);
  EXPECT_EQ(cropped.scale_x, 2.0);
  EXPECT_EQ(cropped.left, -112);
  EXPECT_EQ(cropped.top, 0);
  p.shorter_side = 96;
  EXPECT_EQ(picture_fit(128, 32, *form, p).top, -16);
}

TEST(PictureFit, LetterboxShowsTheWholePicture) {
  Preprocessing p;
  ASSERT_TRUE(parse_resize("letterbox", p).ok());
  const Result<ImageForm> form = image_form(input_of({1, 3, 64, 64}), p);
  ASSERT_TRUE(form.ok());
  const PictureFit wide = picture_fit(128, 32, *form, p);
  EXPECT_EQ(wide.width, 64);
  EXPECT_EQ(wide.height, 16);
  EXPECT_EQ(wide.left, 0);
  EXPECT_EQ(wide.top, 24);
  EXPECT_DOUBLE_EQ(wide.scale_x, 0.5);
  EXPECT_DOUBLE_EQ(wide.scale_y, 0.5);
  // A line of pixels stays one pixel wide.
  EXPECT_EQ(picture_fit(1, 1000, *form, p).width, 1);
  // Small pictures are enlarged.
  EXPECT_EQ(picture_fit(8, 4, *form, p).height, 32);
}

TEST(Preprocess, LetterboxPadsWithItsColour) {
  Preprocessing p;
  p.pixel_range = 255;
  ASSERT_TRUE(parse_resize("letterbox:1,2,3", p).ok());
  const Value value = value_of(numbered(4, 2), input_of({1, 4, 4, 3}), p);
  const auto pixel = [&](size_t y, size_t x, size_t c) {
    return value.as<float>()[(y * 4 + x) * 3 + c];
  };
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(pixel(0, 0, c), static_cast<float>(c + 1));
    EXPECT_EQ(pixel(3, 3, c), static_cast<float>(c + 1));
  }
  EXPECT_EQ(pixel(1, 2, 0), 2.0f);  // row 0 of the picture
  EXPECT_EQ(pixel(2, 3, 1), 1.0f);  // row 1
  // The colour is that of the picture: it changes places with the channels.
  p.color = ColorOrder::Bgr;
  EXPECT_EQ(value_of(numbered(4, 2), input_of({1, 4, 4, 3}), p).as<float>()[0], 3.0f);
}

TEST(Preprocess, LetterboxAsText) {
  Preprocessing p;
  ASSERT_TRUE(parse_resize("letterbox", p).ok());
  EXPECT_EQ(p.text(), "resize letterbox:114, color rgb, pixels 0 to 1");
  const auto again = parse_preprocessing(p.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->resize, ResizeMode::Letterbox);
  ASSERT_TRUE(parse_resize("letterbox:0,128,255", p).ok());
  EXPECT_EQ(parse_preprocessing(p.text())->border, (std::array<uint8_t, 3>{0, 128, 255}));
  for (const char* wrong :
       {"letterbox:", "letterbox:256", "letterbox:-1", "letterbox:1,2", "letterboxes"})
    EXPECT_FALSE(parse_resize(wrong, p).ok()) << wrong;
}

TEST(Preprocess, CropTakesTheMiddleAndStretchTheWhole) {
  Preprocessing p;
  p.pixel_range = 255;
  p.shorter_side = 6;
  const Value crop = value_of(numbered(6, 6), input_of({1, 3, 2, 2}), p);
  EXPECT_EQ(crop.as<float>()[0], 2.0f);
  EXPECT_EQ(crop.as<float>()[1], 3.0f);
  // Without a size the shorter side just covers the input.
  p.shorter_side = 0;
  const Value covered = value_of(numbered(8, 4), input_of({1, 3, 4, 4}), p);
  EXPECT_EQ(covered.as<float>()[0], 2.0f);
  p.resize = ResizeMode::Stretch;
  const Value whole = value_of(numbered(8, 4), input_of({1, 3, 4, 4}), p);
  EXPECT_NEAR(whole.as<float>()[0], 0.5f, 0.51f);
  EXPECT_NEAR(whole.as<float>()[3], 6.5f, 0.51f);
}

TEST(Preprocess, ResampleAveragesWhenShrinking) {
  std::vector<uint8_t> rgb;
  for (int i = 0; i < 8; ++i)
    for (int c = 0; c < 3; ++c) rgb.push_back(static_cast<uint8_t>(i % 2 == 0 ? 0 : 200));
  const Result<image::Image> small = resample(picture_of(8, 1, rgb), 1, 1);
  ASSERT_TRUE(small.ok());
  EXPECT_NEAR(small->rgb()[0], 100, 1);
  const Result<image::Image> same = resample(picture_of(8, 1, rgb), 8, 1);
  EXPECT_TRUE(std::equal(rgb.begin(), rgb.end(), same->rgb().begin()));
}

TEST(Preprocess, RefusesInputsThatAreNoPicture) {
  const auto code = [](const ModelInput& input, const Preprocessing& p) {
    const Result<ImageForm> form = image_form(input, p);
    return form.ok() ? Code{} : form.error().code();
  };
  EXPECT_EQ(code(input_of({1, 10}), {}), Code::BadCalibrationData);
  EXPECT_EQ(code(input_of({1, 3, 224, 3}), {}), Code::BadCalibrationData);  // either order
  EXPECT_EQ(code(input_of({1, 8, 224, 224}), {}), Code::BadCalibrationData);
  Preprocessing two;
  two.mean = {1, 2};
  EXPECT_EQ(code(input_of({1, 3, 8, 8}), two), Code::Usage);
  EXPECT_EQ(code({"x", TensorType(DType::F32, Shape{Dim::symbol("n"), 3, 8, 8})}, {}),
            Code::DynamicShape);
}

TEST(Preprocess, OptionTexts) {
  EXPECT_EQ(parse_channel_values("mean", "0.5, 0.25,1")->size(), 3u);
  EXPECT_EQ(parse_channel_values("mean", "127.5")->at(0), 127.5);
  for (const char* text : {"", "a", "1,nan", "inf"})
    EXPECT_FALSE(parse_channel_values("mean", text).ok()) << text;
  EXPECT_FALSE(parse_channel_values("std", "0").ok());
  Preprocessing p;
  EXPECT_TRUE(parse_resize("crop:256", p).ok());
  EXPECT_EQ(p.shorter_side, 256);
  EXPECT_TRUE(parse_resize("stretch", p).ok());
  EXPECT_EQ(p.resize, ResizeMode::Stretch);
  for (const char* text : {"crop:", "crop:0", "pad", "crop:99999999"})
    EXPECT_FALSE(parse_resize(text, p).ok()) << text;
}

}  // namespace
}  // namespace ec::quantize
