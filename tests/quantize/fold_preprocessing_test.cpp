#include "quantize/fold_input/fold_preprocessing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/text.h"
#include "ops/op_def.h"
#include "quantize/fold_input/pixel_layers.h"
#include "quantize/quantized_text.h"
#include "runtime/session.h"
#include "support/random.h"

namespace ec::quantize {
namespace {

std::string conv_text(const std::string& input, const std::string& weights,
                      const std::string& attributes) {
  return "ecir 1\ngraph @g(%x: f32[" + input + "]) -> (y = %y) {\n  %w = const f32[" + weights +
         "] dense[0.5,-1,2,0.25,1,-0.75,0.1,3,-2,0.5,0.5,1]\n  %y = conv(%x, %w) {" + attributes +
         "}\n}\n";
}

struct Case {
  const char* name;
  std::string text;
  Layout layout;
  size_t convolutions;  // after folding
};

// 2 x 2 taps would make the weights long: 1 x 2 are enough to meet the padding.
std::vector<Case> cases(bool keeps_zero) {
  const size_t padded = keeps_zero ? 1 : 2;
  return {{"first", conv_text("1,3,4,5", "2,3,1,2", "strides=[1,1]"), Layout::ChannelsFirst, 1},
          {"first padded", conv_text("1,3,4,5", "2,3,1,2", "pads=[0,1,0,1]"), Layout::ChannelsFirst,
           padded},
          {"last", conv_text("1,4,5,3", "2,1,2,3", "layout=nhwc"), Layout::ChannelsLast, 1},
          {"last padded", conv_text("1,4,5,3", "2,1,2,3", "layout=nhwc, auto_pad=same_upper"),
           Layout::ChannelsLast, padded}};
}

std::vector<float> run(std::unique_ptr<Graph> graph, Value input) {
  auto session = Session::create(std::move(graph), {});
  EXPECT_TRUE(session.ok()) << session.error().message();
  const NamedValue feed{"x", std::move(input)};
  const auto results = (*session)->run(std::span(&feed, 1));
  EXPECT_TRUE(results.ok()) << results.error().message();
  const auto values = results->at(0).as<float>();
  return {values.begin(), values.end()};
}

void compare(const Case& c, const Preprocessing& preprocessing, PixelArithmetic arithmetic) {
  SCOPED_TRACE(std::string(c.name) + ": " + preprocessing.text());
  image::Image picture{5, 4, Buffer::allocate(60)};
  RandomState random(4);
  for (std::byte& pixel : picture.pixels.bytes())
    pixel = static_cast<std::byte>(static_cast<uint8_t>(random.uniform() * 256));
  auto plain = parse(c.text);
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  const auto form = image_form({"x", (*plain)->inputs()[0]->type()}, preprocessing);
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->layout, c.layout);
  const auto prepared = preprocess(picture, *form, preprocessing);
  ASSERT_TRUE(prepared.ok());

  auto folded = parse(c.text);
  const auto input = fold_preprocessing(**folded, preprocessing, arithmetic);
  ASSERT_TRUE(input.ok()) << input.error().message();
  ASSERT_TRUE(bytes_at_input(**folded, input->input).ok());
  EXPECT_TRUE(verify(**folded).empty());
  const Tensor* bytes = (*folded)->inputs()[0];
  EXPECT_EQ(bytes->type().text(), "u8[1,4,5,3]");
  size_t convolutions = 0;
  for (const Operation* op : (*folded)->topological()) convolutions += op->kind() == OpKind::Conv;
  EXPECT_EQ(convolutions, c.convolutions);
  EXPECT_EQ(input->rest.text(), "resize crop, color rgb, pixels 0 to 255");

  const std::vector<float> expected = run(std::move(*plain), *prepared);
  const std::vector<float> got =
      run(std::move(*folded), Value::of<uint8_t>({1, 4, 5, 3}, picture.rgb()));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5f * 10);
}

TEST(FoldPreprocessing, GivesWhatPreprocessingOutsideGives) {
  Preprocessing imagenet;
  imagenet.mean = {0.485, 0.456, 0.406};
  imagenet.std = {0.229, 0.224, 0.225};
  Preprocessing reversed = imagenet;
  reversed.color = ColorOrder::Bgr;
  Preprocessing half;
  half.mean = half.std = {127.5};
  for (const Preprocessing& p : {imagenet, reversed, half})
    for (const Case& c : cases(false))
      for (const PixelArithmetic arithmetic : {PixelArithmetic::Float, PixelArithmetic::Integer})
        compare(c, p, arithmetic);
}

TEST(FoldPreprocessing, ScalesAloneGoThroughPadding) {
  Preprocessing unit, reversed;
  reversed.color = ColorOrder::Bgr;
  reversed.std = {0.5, 0.25, 0.125};
  for (const Preprocessing& p : {unit, reversed})
    for (const Case& c : cases(true)) compare(c, p, PixelArithmetic::Integer);
}

// In front of a convolution that pads, pixels stay whole. With weights that are on their steps, all
// that is left of the error is the rounding of the result and of the one weight per tap that stands
// for the means.
TEST(FoldPreprocessing, IntegersRoundNoPixel) {
  Preprocessing preprocessing;
  preprocessing.mean = {0.485, 0.456, 0.406};
  preprocessing.std = {0.25};
  auto graph = parse(
      "ecir 1\ngraph @g(%x: f32[1,4,5,3]) -> (y = %y) {\n  %w = const f32[2,1,2,3] dense["
      "0.9921875,-0.5,0.25,0.0625,0.75,-0.9921875,0.5,0.9921875,-0.125,-0.375,0.9921875,0.625]\n"
      "  %y = conv(%x, %w) {layout=nhwc, pads=[0,1,0,1]}\n}\n");
  const auto input = fold_preprocessing(**graph, preprocessing, PixelArithmetic::Integer);
  ASSERT_TRUE(input.ok());
  std::vector<std::vector<Value>> pictures;
  RandomState random(6);
  for (int i = 0; i < 16; ++i) {
    std::vector<float> pixels(60);
    for (float& pixel : pixels)
      pixel = static_cast<float>(static_cast<int>(random.uniform() * 256));
    pictures.push_back({Value::of<float>({1, 4, 5, 3}, std::span<const float>(pixels))});
  }
  const auto samples = samples_in_memory(pictures, {{"x", (*graph)->inputs()[0]->type()}});
  QuantizeRequest request = plain_request();
  request.samples = samples->get();
  request.pixel_input = "x";
  DiagnosticSink sink;
  const auto quantized = strategy("ptq").run(**graph, request, sink);
  ASSERT_TRUE(quantized.ok()) << quantized.error().message();

  const Tensor* weights = quantized->graph->find_tensor("w_of_pixels");
  const Tensor* front = weights->uses().front().op->input(0);
  EXPECT_EQ(weights->shape()->sizes(), (std::vector<int64_t>{2, 1, 2, 4}));
  // 113.5 is in the middle of 123.7, 116.3 and 103.5.
  EXPECT_EQ(*front->type().quant, (QuantParams{{1.0f}, {114 - 128}, -1}));
  const double k = (*graph)->find_tensor("preprocessing_shift")->values<float>()[3];
  EXPECT_LE(std::abs(k), 20);  // the means are at most 10.5 from the middle
  const double step = quantized->graph->find_tensor("y")->type().quant->scales[0];
  const double weight_step = weights->type().quant->scales[0];
  for (const std::vector<Value>& picture : pictures) {
    const auto expected = run((*graph)->clone(), picture[0]);
    const auto got = run(quantized->graph->clone(), picture[0]);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 0.501 * step + 2 * std::abs(k) * weight_step / 2);
  }
  // Which is less than half a pixel at any tap.
  EXPECT_LT(2 * std::abs(k) * weight_step / 2, 0.5 * 127 * weight_step);
}

TEST(FoldPreprocessing, PickedPixelsHaveStepsOfOne) {
  const auto params_of = [](const char* weights, const char* bias) {
    const auto graph =
        parse(std::string("ecir 1\ngraph @g(%x: f32[1,4,5,3]) -> (y = %y) {\n") +
              "  %w = const f32[2,1,1,3] dense[" + weights + "]\n  %b = const f32[2] dense[" +
              bias + "]\n  %y = conv(%x, %w, %b) {layout=nhwc}\n}\n");
    return picked_pixel_params(*(*graph)->topological()[0]);
  };
  EXPECT_EQ(params_of("0,1,0,1,0,0", "-100,-100"), (QuantParams{{1.0f}, {-28}, -1}));
  EXPECT_EQ(params_of("0,1,0,0,0,0", "-100,155"), (QuantParams{{1.0f}, {-28}, -1}));
  EXPECT_FALSE(params_of("0,1,0,0,0,0", "-100,156"));       // 257 values
  EXPECT_FALSE(params_of("0,1,0,1,0,0", "-100,-99"));       // the same
  EXPECT_FALSE(params_of("0,1,0,1,0,0", "-100.5,-100.5"));  // no whole numbers
  EXPECT_FALSE(params_of("0,1,1,1,0,0", "0,0"));
  EXPECT_FALSE(params_of("0,0.5,0,1,0,0", "0,0"));
}

TEST(FoldPreprocessing, NeedsOneImageInput) {
  const auto code_of = [](const char* text) {
    auto graph = parse(text);
    const auto folded = fold_preprocessing(**graph, {}, PixelArithmetic::Float);
    return folded.ok() ? Code{} : folded.error().code();
  };
  EXPECT_EQ(code_of("ecir 1\ngraph @g(%x: f32[1,10]) -> (y = %y) {\n  %y = relu(%x)\n}\n"),
            Code::Usage);
  EXPECT_EQ(code_of("ecir 1\ngraph @g(%x: f32[1,3,4,4], %z: f32[1,3,4,4]) -> (y = %y) {\n  %y = "
                    "add(%x, %z)\n}\n"),
            Code::Usage);
}

}  // namespace
}  // namespace ec::quantize
