#include "quantize/ranges/needed_ranges.h"

#include <cmath>

#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

// What of %x, seen from -20 to 20, the readers in `body` tell apart.
std::optional<Range> needed(const std::string& body, const std::string& outputs = "y = %y",
                            Width width = Width::Narrow) {
  const auto graph = test::graph_from("graph @g(%in: f32[4]) -> (" + outputs +
                                      ") {\n  %x = neg(%in)\n" + body + "}");
  PlanOptions options;
  options.width = width;
  const Plan plan = make_plan(*graph, tflite_spec(), options);
  Ranges seen;
  seen.resize(graph->tensor_id_bound());
  const uint32_t x = graph->find_tensor("x")->id();
  seen[x] = Range{-20, 20};
  return needed_ranges(*graph, plan, seen)[x];
}

constexpr float kPoint = 40.0f / 4096;

TEST(NeededRanges, EndWhereReadersAreFlat) {
  const auto swish = needed("  %y = hard_swish(%x)\n");
  ASSERT_TRUE(swish);
  EXPECT_NEAR(swish->min, -3, 0.05);
  EXPECT_EQ(swish->max, 20);
  EXPECT_NEAR(needed("  %y = relu(%x)\n")->min, 0, 0.01);
  const auto clip = needed(
      "  %lo = const f32[] splat(-1) %hi = const f32[] splat(5)\n  %y = clip(%x, %lo, %hi)\n");
  ASSERT_TRUE(clip);
  EXPECT_NEAR(clip->min, -1, 2 * kPoint);
  EXPECT_NEAR(clip->max, 5, 2 * kPoint);
  const auto above = needed("  %lo = const f32[] splat(-1)\n  %y = max(%x, %lo)\n");
  ASSERT_TRUE(above);
  EXPECT_NEAR(above->min, -1, 2 * kPoint);
  EXPECT_EQ(above->max, 20);
  const auto below = needed("  %hi = const f32[4] splat(5)\n  %y = min(%x, %hi)\n");
  ASSERT_TRUE(below);
  EXPECT_EQ(*below, (Range{-20, 5}));
}

TEST(NeededRanges, SmoothReadersMoveByAFractionOfAStep) {
  const auto sigmoid = needed("  %y = sigmoid(%x)\n");
  ASSERT_TRUE(sigmoid);
  EXPECT_NEAR(sigmoid->min, -sigmoid->max, 2 * kPoint);
  EXPECT_LT(1 / (1 + std::exp(sigmoid->max)), 1.0 / 256 / 16);
  EXPECT_LT(sigmoid->max, 9);
}

TEST(NeededRanges, AProductWithAGateCountsAsOne) {
  const auto swish = needed("  %g = sigmoid(%x)\n  %y = mul(%x, %g)\n");
  ASSERT_TRUE(swish);
  EXPECT_LT(std::abs(swish->min / (1 + std::exp(-swish->min))), 20.3 / 255 / 16);
  EXPECT_GT(swish->min, -9);
  EXPECT_EQ(swish->max, 20);
  // The gate by itself is read too: below, it needs more than the product.
  const auto both = needed("  %g = sigmoid(%x)\n  %y = mul(%x, %g)\n", "y = %y, g = %g");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->max, 20);
}

TEST(NeededRanges, EveryReaderCounts) {
  EXPECT_FALSE(needed("  %a = relu(%x)\n  %b = neg(%x)\n  %y = add(%a, %b)\n"));
  EXPECT_FALSE(needed("  %y = relu(%x)\n", "y = %y, x = %x"));
  const auto wider = needed("  %a = relu(%x)\n  %b = hard_swish(%x)\n  %y = add(%a, %b)\n");
  ASSERT_TRUE(wider);
  EXPECT_NEAR(wider->min, -3, 0.05);
}

TEST(NeededRanges, SixteenBitsHaveRoomForAll) {
  EXPECT_FALSE(needed("  %y = hard_swish(%x)\n", "y = %y", Width::Wide));
}

// Values far below -3 that a hard swish forgets: they neither widen the range nor count as clipped.
TEST(NeededRanges, MakeStepsFinerAndAreNoLoss) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,4,4,2]) -> (y = %y) {\n"
      "  %w = const f32[2,1,1,2] dense[1,0,0,100] %b = const f32[2] dense[0,-300]\n"
      "  %c = conv(%x, %w, %b) {layout=nhwc} loc(\"uneven\" : \"Conv\")\n"
      "  %y = hard_swish(%c)\n}");
  const Quantized q = quantize_text(std::move(graph), plain_request());
  EXPECT_LT(q.type("c").quant->scales[0], 6.0f / 255);
  const LayerAccuracy& layer = q.result.report.accuracy.layers[0];
  EXPECT_EQ(layer.name, "uneven");
  EXPECT_LT(layer.error.clip_rate(), 0.01);
  EXPECT_GT(layer.error.sqnr_db(), 35);
}

}  // namespace
}  // namespace ec::quantize
