#include "quantize/plan/precision_critical_ops.h"

#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

// Rows of an image picked at computed places, and weighed by how far off those are.
const char* const kSampled =
    "graph @g(%image: f32[64,4], %theta: f32[1,1]) -> (y = %y) {\n"
    "  %grid = const f32[16,1] splat(3.7)\n"
    "  %half = const f32[] splat(0.5) %scale = const f32[] splat(6)\n"
    "  %low = const f32[] splat(0) %high = const f32[] splat(63)\n"
    "  %t = add(%theta, %half) loc(\"map\" : \"Add\")\n"
    "  %g = matmul(%grid, %t) loc(\"places\" : \"MatMul\")\n"
    "  %at = mul(%g, %scale) loc(\"scaled\" : \"Mul\")\n"
    "  %whole = floor(%at)\n"
    "  %rest = sub(%at, %whole) loc(\"rest\" : \"Sub\")\n"
    "  %inside = clip(%whole, %low, %high)\n"
    "  %hit = equal(%whole, %inside) loc(\"hit\" : \"Equal\")\n"
    "  %h = cast(%hit) {to=f32}\n"
    "  %weight = mul(%rest, %h) loc(\"weight\" : \"Mul\")\n"
    "  %index = cast(%inside) {to=i32}\n"
    "  %axis = const i64[1] dense[1]\n"
    "  %flat = squeeze(%index, %axis)\n"
    "  %pixels = gather(%image, %flat) {axis=0}\n"
    "  %y = mul(%pixels, %weight) loc(\"blend\" : \"Mul\")\n}";

TEST(PrecisionCriticalOps, CoordinatesAreComputedInFloat) {
  const Quantized q = quantize_text(test::graph_from(kSampled), plain_request());
  std::set<std::string> coordinates;
  for (const KeptInFloat& op : q.result.report.kept_in_float)
    if (op.reason == "computes coordinates, which need more than 8 bits")
      coordinates.insert(op.name);
  EXPECT_EQ(coordinates, (std::set<std::string>{"map", "places", "scaled", "rest", "hit"}));
  EXPECT_GT(q.result.report.accuracy.outputs[0].error.sqnr_db(), 20);
}

TEST(PrecisionCriticalOps, NothingElseIsACoordinate) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[4,4]) -> (y = %y, z = %z) {\n"
      "  %w = const f32[4,4] splat(1)\n"
      "  %a = add(%x, %w)\n"
      "  %b = matmul(%a, %w)\n"
      "  %f = floor(%b)\n"
      "  %y = mul(%f, %a)\n"
      "  %z = mul(%a, %w)\n}");
  const std::vector<bool> coordinates = coordinate_ops(*graph);
  const auto is_coordinate = [&](const char* name) {
    return coordinates[graph->find_tensor(name)->producer()->id()];
  };
  EXPECT_TRUE(is_coordinate("f"));
  EXPECT_FALSE(is_coordinate("b"));  // a layer gives it
  EXPECT_FALSE(is_coordinate("a"));
  EXPECT_FALSE(is_coordinate("y"));  // not of coordinates alone
  EXPECT_FALSE(is_coordinate("z"));
}

TEST(PrecisionCriticalOps, NormalisationsEndAtTheLayersAroundThem) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[4,8]) -> (y = %y) {\n"
      "  %axes = const i64[1] dense[1] %e = const f32[] splat(0.001) %g = const f32[8] splat(2)\n"
      "  %c = relu(%x)\n"
      "  %m = reduce_mean(%c, %axes)\n  %d = sub(%c, %m)\n  %s = mul(%d, %d)\n"
      "  %v = reduce_mean(%s, %axes)\n  %ve = add(%v, %e)\n  %r = rsqrt(%ve)\n"
      "  %n = mul(%d, %r)\n  %y = mul(%n, %g)\n}");
  const std::vector<bool> norms = normalization_ops(*graph);
  const auto is_norm = [&](const char* name) {
    return norms[graph->find_tensor(name)->producer()->id()];
  };
  for (const char* name : {"m", "d", "s", "v", "ve", "r", "n"}) EXPECT_TRUE(is_norm(name)) << name;
  EXPECT_FALSE(is_norm("c"));
  EXPECT_FALSE(is_norm("y"));
}

}  // namespace
}  // namespace ec::quantize
