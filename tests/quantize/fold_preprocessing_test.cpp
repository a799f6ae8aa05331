#include "quantize/fold_preprocessing.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/op_def.h"
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

void compare(const Case& c, const Preprocessing& preprocessing) {
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
  const auto input = fold_preprocessing(**folded, preprocessing);
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
    for (const Case& c : cases(false)) compare(c, p);
}

TEST(FoldPreprocessing, ScalesAloneGoThroughPadding) {
  Preprocessing unit, reversed;
  reversed.color = ColorOrder::Bgr;
  reversed.std = {0.5, 0.25, 0.125};
  for (const Preprocessing& p : {unit, reversed})
    for (const Case& c : cases(true)) compare(c, p);
}

TEST(FoldPreprocessing, NeedsOneImageInput) {
  const auto code_of = [](const char* text) {
    auto graph = parse(text);
    const auto folded = fold_preprocessing(**graph, {});
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
