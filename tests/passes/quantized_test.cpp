// Tensors with quantisation parameters: passes leave their meaning alone.
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

TEST(QuantizedPasses, StoredZeroIsNotZero) {
  // 0 stored with zero point 3 is -1.5.
  expect_kinds(R"(graph @g(%x: i8[4] q(0.5:3)) -> (y = %y) {
    %c = const i8[4] q(0.5:3) splat(0)
    %y = add(%x, %c) : i8[4] q(0.5:3)
  })",
               "optimize", "add", {.compare = false});
}

TEST(QuantizedPasses, OtherParametersInBetweenRound) {
  expect_kinds(R"(graph @g(%x: i8[4] q(0.5:0)) -> (y = %y) {
    %a = neg(%x) : i8[4] q(2:0)
    %y = neg(%a) : i8[4] q(0.5:0)
  })",
               "canonicalise", "neg neg", {.compare = false});
  expect_kinds(R"(graph @g(%x: i8[4] q(0.5:0)) -> (y = %y) {
    %y = relu(%x) : i8[4] q(0.25:-128)
  })",
               "canonicalise", "relu", {.compare = false});
}

TEST(QuantizedPasses, EqualBytesOfOtherScalesAreDifferent) {
  const auto out = optimise(R"(graph @g(%x: i8[2] q(0.5:0)) -> (y = %y, z = %z) {
    %a = const i8[2] q(0.5:0) dense[1,2]
    %b = const i8[2] q(0.25:0) dense[1,2]
    %y = add(%x, %a) : i8[2] q(1:0)
    %z = add(%x, %b) : i8[2] q(1:0)
  })",
                            "canonicalise", {.compare = false});
  EXPECT_EQ(out.count(OpKind::Add), 2);
  const auto same_operands = optimise(R"(graph @g(%x: i8[2] q(0.5:0)) -> (y = %y, z = %z) {
    %y = add(%x, %x) : i8[2] q(1:0)
    %z = add(%x, %x) : i8[2] q(2:0)
  })",
                                      "canonicalise", {.compare = false});
  EXPECT_EQ(same_operands.count(OpKind::Add), 2);
}

TEST(QuantizedPasses, MovedTransposesKeepParameters) {
  for (const std::string_view pipeline : {"canonicalise", "optimize", "runtime", "tflite"}) {
    const auto out = optimise(R"(graph @g(%x: i8[1,2,3,4] q(0.5:1)) -> (y = %y) {
      %t = transpose(%x) {perm=[0,2,3,1]} : i8[1,3,4,2] q(0.5:1)
      %r = relu(%t) : i8[1,3,4,2] q(0.5:1)
      %u = transpose(%r) {perm=[0,3,1,2]} : i8[1,2,3,4] q(0.5:1)
      %s = const i64[3] dense[1,2,12]
      %y = reshape(%u, %s) : i8[1,2,12] q(0.5:1)
    })",
                              pipeline, {.compare = false});
    for (const Tensor* tensor : out.after->tensors()) {
      if (tensor->dtype() != DType::I8) continue;
      ASSERT_TRUE(tensor->type().quant.has_value()) << pipeline << "\n" << out.text();
      EXPECT_EQ(tensor->type().quant->scales, std::vector<float>{0.5f});
    }
  }
}

TEST(QuantizedPasses, ConvolutionsKeepWeightsAndPads) {
  const auto out = optimise(R"(graph @g(%x: i8[1,5,5,2] q(0.5:3)) -> (y = %y) {
    %w = const i8[2,3,3,2] q(axis=0,0.25:0,0.125:0) splat(3)
    %b = const i32[2] q(axis=0,0.125:0,0.0625:0) dense[5,6]
    %y = conv(%x, %w, %b) {layout=nhwc, pads=[1,1,0,0], activation=relu} : i8[1,4,4,2] q(0.1:-128)
  })",
                            "tflite", {.compare = false});
  EXPECT_EQ(out.kinds(), "pad conv");
  EXPECT_EQ(out.only(OpKind::Pad).output()->type().quant->zero_points, std::vector<int32_t>{3});
  EXPECT_EQ(out.only(OpKind::Conv).output()->type().quant->scales, std::vector<float>{0.1f});
}

}  // namespace
}  // namespace ec
