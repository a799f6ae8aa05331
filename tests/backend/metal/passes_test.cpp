// The forms that ML Programs have: what the legalisation makes of operations, and that results
// stay.
#include "backend/metal/passes/rules.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

constexpr std::string_view kLegal = "legalise-mil,fold-known,simplify-reshapes,eliminate-dead-code";

TEST(LegaliseMil, Activations) {
  expect_kinds("graph @g(%x: f32[2,3,4]) -> (y = %y) { %y = hard_swish(%x) }", kLegal,
               "hard_sigmoid mul");
  expect_kinds("graph @g(%x: f32[2,3,4]) -> (y = %y) { %y = silu(%x) {alpha=2} }", kLegal,
               "mul sigmoid mul");
  expect_kinds("graph @g(%x: f32[2,3,4]) -> (y = %y) { %y = silu(%x) }", kLegal, "silu");
  for (const std::string_view op : {"mish(%x)", "celu(%x) {alpha=0.5}", "selu(%x)",
                                    "thresholded_relu(%x) {alpha=0.3}", "shrink(%x)"})
    optimise("graph @g(%x: f32[2,3,4]) -> (y = %y) { %y = " + std::string(op) + " }", kLegal);
}

// Of any length: TFLite's own form of some is none of ML Programs.
TEST(LegaliseMil, FourierTransformsAreProducts) {
  for (const std::string length : {"8", "6"}) {
    const auto out = optimise("graph @g(%x: f32[1," + length +
                                  ",1]) -> (y = %y) { %a = const i64[] dense[1] "
                                  "%y = dft(%x, _, %a) {onesided=true} }",
                              kLegal);
    EXPECT_EQ(out.count(OpKind::Dft), 0) << length;
    EXPECT_EQ(out.count(OpKind::MatMul), 2) << length;
  }
  const auto frames = optimise(R"(graph @g(%x: f32[1,32,1]) -> (y = %y) {
    %step = const i64[] dense[4] %size = const i64[] dense[8]
    %y = stft(%x, %step, _, %size) {onesided=true}
  })",
                               kLegal);
  EXPECT_EQ(frames.count(OpKind::Dft) + frames.count(OpKind::Stft), 0);
}

TEST(LegaliseMil, SlopesByChannelStay) {
  expect_kinds(R"(graph @g(%x: f32[1,3,4,4]) -> (y = %y) {
    %s = const f32[3,1,1] splat(0.25) %y = prelu(%x, %s)
  })",
               kLegal, "prelu");
  expect_kinds(R"(graph @g(%x: f32[1,3,4,4]) -> (y = %y) {
    %s = const f32[4] splat(0.25) %y = prelu(%x, %s)
  })",
               kLegal, "relu min mul add");
  expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) {
    %s = const f32[3] splat(0.25) %y = prelu(%x, %s)
  })",
               kLegal, "relu min mul add");
}

TEST(LegaliseMil, Products) {
  expect_kinds(R"(graph @g(%x: f32[2,5]) -> (y = %y) {
    %w = const f32[5,3] splat(0.5) %y = matmul(%x, %w)
  })",
               kLegal, "matmul");
  expect_kinds(R"(graph @g(%x: f32[2,5]) -> (y = %y) {
    %w = const f32[3,5] splat(0.5) %c = const f32[3] splat(1)
    %y = gemm(%x, %w, %c) {transpose_b=true, alpha=0.5, beta=2}
  })",
               kLegal, "gemm mul add");
  // Layers on more than three dimensions compute on rows.
  expect_kinds(R"(graph @g(%x: f32[2,2,2,5]) -> (y = %y) {
    %w = const f32[3,5] splat(0.5) %y = matmul(%x, %w) {transpose_b=true}
  })",
               kLegal, "reshape matmul reshape");
  expect_kinds("graph @g(%x: f32[5], %z: f32[5,3]) -> (y = %y) { %y = matmul(%x, %z) }", kLegal,
               "reshape matmul reshape");
}

TEST(LegaliseMil, ActivationsOfWeightedSumsAreApart) {
  expect_kinds(R"(graph @g(%x: f32[1,3,4,4]) -> (y = %y) {
    %w = const f32[2,3,3,3] splat(0.1) %y = conv(%x, %w) {activation=relu6}
  })",
               kLegal, "conv clip");
}

TEST(LegaliseMil, Normalisations) {
  expect_kinds(R"(graph @g(%x: f32[2,4,4,4]) -> (y = %y) {
    %g = const f32[4] splat(2) %b = const f32[4] splat(1) %y = group_norm(%x, %g, %b) {groups=2}
  })",
               kLegal, "reshape layer_norm reshape mul add");
  expect_kinds(R"(graph @g(%x: f32[2,4,4,4], %g: f32[4]) -> (y = %y) {
    %y = layer_norm(%x, %g) {axis=3}
  })",
               kLegal, "layer_norm mul");
  expect_kinds(R"(graph @g(%x: f32[2,4]) -> (y = %y) {
    %g = const f32[4] splat(2) %b = const f32[4] splat(1) %v = const f32[4] splat(3)
    %y = batch_norm(%x, %g, %b, %b, %v)
  })",
               kLegal, "mul add");
}

TEST(LegaliseMil, DimensionsThatMoveTogetherMerge) {
  // The windows of a Swin transformer: six dimensions become four.
  expect_kinds(R"(graph @g(%x: f32[2,4,6,3]) -> (y = %y) {
    %a = const i64[6] dense[2,2,2,3,2,3] %v = reshape(%x, %a)
    %t = transpose(%v) {perm=[0,1,3,2,4,5]}
    %b = const i64[3] dense[12,4,3] %y = reshape(%t, %b)
  })",
               kLegal, "reshape transpose reshape");
}

TEST(PackageForm, InterfaceTypes) {
  auto graph = test::graph_from(R"(graph @g(%x: i64[3], %s: f32[], %b: f32[3]) -> (y = %y, z = %z) {
    %f = cast(%x) {to=f32} %y = less(%f, %b) %z = mul(%b, %s)
  })");
  PassStats stats;
  ASSERT_TRUE(passes::give_interface_types(*graph, stats).ok());
  EXPECT_TRUE(verify(*graph).empty());
  ASSERT_EQ(graph->inputs().size(), 3u);
  EXPECT_EQ(graph->inputs()[0]->name(), "x");
  EXPECT_EQ(graph->inputs()[0]->type().text(), "i32[3]");
  EXPECT_EQ(graph->inputs()[1]->type().text(), "f32[1]");
  EXPECT_EQ(graph->inputs()[2]->type().text(), "f32[3]");
  EXPECT_EQ(graph->outputs()[0]->type().text(), "f32[3]");
}

TEST(LegaliseMil, Arithmetic) {
  optimise(R"(graph @g(%x: f32[40], %z: f32[40]) -> (y = %y, l = %l) {
    %y = atan2(%x, %z) %l = log_softmax(%x) {axis=0}
  })",
           kLegal, {.tolerance = 1e-5});
  expect_kinds("graph @g(%x: i32[7], %z: i32[7]) -> (y = %y) { %y = div(%x, %z) }", kLegal,
               "floor_div less mul equal not and add where", {.compare = false});
  optimise(R"(graph @g(%x: i32[7]) -> (y = %y) {
    %z = const i32[7] dense[1,-2,3,-4,5,-6,7] %y = div(%x, %z)
  })",
           kLegal);
  expect_kinds(
      "graph @g(%c: f32[4], %z: f32[4]) -> (y = %y) {"
      " %k = less(%c, %z) %a = const f32[] splat(1) %b = const f32[] splat(2)"
      " %y = where(%k, %a, %b) }",
      kLegal, "less where");
}

TEST(LegaliseMil, BlocksOfSpaceAndBatch) {
  optimise(R"(graph @g(%x: f32[2,4,6,3]) -> (y = %y, z = %z) {
    %b = const i64[2] dense[2,3] %p = const i64[2,2] dense[1,1,0,0]
    %y = space_to_batch(%x, %b, %p)
    %c = const i64[2,2] dense[1,1,0,0]
    %z = batch_to_space(%y, %b, %c)
  })",
           kLegal);
}

TEST(PackageForm, IntegersWithScalesBecomeRoundedFloats) {
  auto graph = test::graph_from(R"(graph @g(%x: i8[1,4] q(0.5:0)) -> (y = %y) {
    %y = relu(%x) : i8[1,4] q(0.25:-3)
  })");
  PassContext context;
  PassStats stats;
  ASSERT_TRUE(passes::simulate_integers(*graph, context, stats).ok());
  EXPECT_TRUE(verify(*graph).empty());
  EXPECT_EQ(graph->inputs()[0]->type().text(), "f32[1,4]");
  std::string kinds;
  for (const Operation* op : graph->topological()) kinds += std::string(op_name(op->kind())) + " ";
  EXPECT_EQ(kinds, "quantize dequantize relu quantize dequantize ");
}

}  // namespace
}  // namespace ec
