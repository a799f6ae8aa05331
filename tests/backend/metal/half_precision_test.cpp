// Half precision: what computes on f16, what stays and why, and where the casts are.
#include "backend/metal/half_precision.h"

#include "ops/op_def.h"
#include "passes/harness.h"

namespace ec::metal {
namespace {

std::string kinds_of(const Graph& graph) {
  std::string kinds;
  for (const Operation* op : graph.topological())
    kinds += (kinds.empty() ? "" : " ") + std::string(op_name(op->kind())) + ":" +
             std::string(dtype_name(op->output()->dtype()));
  return kinds;
}

std::vector<KeptSingle> halve(Graph& graph, const HalfPrecisionOptions& options = {}) {
  auto kept = give_half_precision(graph, options);
  EXPECT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_TRUE(verify(graph).empty());
  return kept.ok() ? std::move(*kept) : std::vector<KeptSingle>();
}

TEST(HalfPrecision, CastsStandAtTheInterfaceAlone) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,3,4,4]) -> (y = %y) {
    %w = const f32[2,3,3,3] splat(0) %c = conv(%x, %w) %y = relu(%c)
  })");
  EXPECT_TRUE(halve(*graph).empty());
  EXPECT_EQ(kinds_of(*graph), "cast:f16 conv:f16 relu:f16 cast:f32");
}

TEST(HalfPrecision, LargeConstantsStaySingle) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[4]) -> (y = %y) {
    %r = relu(%x) %k = const f32[] splat(100000) %m = mul(%r, %k) %y = relu(%m)
  })");
  const auto kept = halve(*graph);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].op, "mul");
  EXPECT_NE(kept[0].reason.find("100000"), std::string::npos) << kept[0].reason;
  EXPECT_EQ(kinds_of(*graph), "cast:f16 relu:f16 cast:f32 mul:f32 cast:f16 relu:f16 cast:f32");
}

TEST(HalfPrecision, MasksStayFinite) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[2,4], %m: bool[2,4]) -> (y = %y) {
    %hidden = const f32[4] dense[-1e30,-3.4e38,1e30,-inf]
    %s = where(%m, %x, %hidden) %y = softmax(%s) {axis=1}
  })");
  EXPECT_TRUE(halve(*graph).empty());
  EXPECT_EQ(kinds_of(*graph), "cast:f16 where:f16 softmax:f16 cast:f32");
  for (const Operation* op : graph->topological())
    if (op->kind() == OpKind::Where) {
      const auto halves = op->input(2)->values<uint16_t>();
      EXPECT_EQ(std::vector<uint16_t>(halves.begin(), halves.end()),
                (std::vector<uint16_t>{0xFBFF, 0xFBFF, 0x7BFF, 0xFC00}));
    }
}

TEST(HalfPrecision, TinyNumbersBesideASumStaySingle) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[4]) -> (y = %y) {
    %k = const f32[] splat(1e-12) %y = add(%x, %k)
  })");
  ASSERT_EQ(halve(*graph).size(), 1u);
  EXPECT_EQ(kinds_of(*graph), "add:f32");
}

// Of a vector of zeros, whose norm would be zero as a half.
TEST(HalfPrecision, DivisionsByWhatATinyNumberKeepsFromZeroStaySingle) {
  for (const std::string_view division :
       {"%b = expand(%d, %s) %y = div(%x, %b)", "%r = reciprocal(%d) %y = mul(%x, %r)"}) {
    auto graph = test::graph_from(R"(graph @g(%x: f32[2,8]) -> (y = %y) {
      %a = const i64[1] dense[1] %s = const i64[2] dense[2,8] %n = reduce_l2(%x, %a)
      %e = const f32[] splat(1e-12) %d = max(%n, %e) )" +
                                  std::string(division) + " }");
    const auto kept = halve(*graph);
    ASSERT_GE(kept.size(), 2u);
    EXPECT_NE(kept.back().reason.find("keeps from zero"), std::string::npos) << kept.back().reason;
    EXPECT_EQ(graph->outputs()[0]->producer()->output()->dtype(), DType::F32);
    EXPECT_NE(graph->outputs()[0]->producer()->kind(), OpKind::Cast);
  }
  // A larger one is kept from zero as a half, too.
  auto graph = test::graph_from(R"(graph @g(%x: f32[4], %n: f32[4]) -> (y = %y) {
    %e = const f32[] splat(0.001) %d = max(%n, %e) %y = div(%x, %d)
  })");
  EXPECT_TRUE(halve(*graph).empty());
}

TEST(HalfPrecision, SquaresInFrontOfRootsStaySingle) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[2,8]) -> (y = %y) {
    %q = mul(%x, %x) %a = const i64[1] dense[1] %m = reduce_mean(%q, %a)
    %e = const f32[] splat(0.001) %s = add(%m, %e) %r = rsqrt(%s) %y = mul(%x, %r)
  })");
  const auto kept = halve(*graph);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_NE(kept[0].reason.find("rsqrt"), std::string::npos) << kept[0].reason;
  // The normalisation itself is in half precision.
  EXPECT_TRUE(kinds_of(*graph).ends_with("mul:f16 cast:f32")) << kinds_of(*graph);
  // A root of something else is, too.
  auto plain = test::graph_from("graph @g(%x: f32[4]) -> (y = %y) { %y = sqrt(%x) }");
  EXPECT_TRUE(halve(*plain).empty());
}

TEST(HalfPrecision, IntegersAndTruthValuesStay) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[4], %z: f32[4]) -> (y = %y) {
    %b = less(%x, %z) %y = where(%b, %x, %z)
  })");
  EXPECT_TRUE(halve(*graph).empty());
  EXPECT_EQ(kinds_of(*graph), "cast:f16 cast:f16 less:bool where:f16 cast:f32");
}

TEST(HalfPrecision, SinglePrecisionComputesTheSame) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,3,4,4]) -> (y = %y) {
    %w = const f32[2,3,3,3] splat(0) %c = conv(%x, %w) %y = sigmoid(%c)
  })");
  auto half = graph->clone();
  halve(*half);
  ASSERT_TRUE(give_single_precision(*half).ok());
  for (const Operation* op : half->topological()) EXPECT_NE(op->output()->dtype(), DType::F16);
  // The weights have been rounded to 11 bits.
  test::expect_same_results(*graph, *half, {.tolerance = 5e-3});
}

}  // namespace
}  // namespace ec::metal
