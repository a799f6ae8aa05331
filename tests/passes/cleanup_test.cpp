// Dead code, equal code and folding.
#include "passes/harness.h"

namespace ec {
namespace {

using test::optimise;

TEST(EliminateDeadCode, RemovesWhatNoOutputNeeds) {
  const auto out = optimise(R"(graph @g(%x: f32[2]) -> (y = %a) {
    %unused = const f32[2] splat(1)
    %a = abs(%x)
    %b = sin(%a)
    %c = cos(%b)
  })",
                            "eliminate-dead-code");
  EXPECT_EQ(out.num_operations(), 1u);
  EXPECT_EQ(out.after->find_tensor("unused"), nullptr);
}

TEST(EliminateDeadCode, KeepsUnreadInputs) {
  const auto out = optimise(R"(graph @g(%x: f32[2], %z: f32[3]) -> (y = %a) {
    %a = abs(%x)
  })",
                            "eliminate-dead-code");
  EXPECT_EQ(out.after->inputs().size(), 2u);
  EXPECT_EQ(out.report.changes(), 0);
}

TEST(CommonSubexpressions, MergesAndKeepsBothLocations) {
  const auto out = optimise(R"(graph @g(%x: f32[2]) -> (y = %a, z = %b) {
    %a = abs(%x) loc("one")
    %b = abs(%x) loc("two")
  })",
                            "common-subexpressions");
  EXPECT_EQ(out.only(OpKind::Abs).location().nodes, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(out.after->output_names(), (std::vector<std::string>{"y", "z"}));
}

TEST(CommonSubexpressions, TellsAttributesAndOperandsApart) {
  const auto out = optimise(R"(graph @g(%x: f32[2], %z: f32[2]) -> (a = %a, b = %b, c = %c) {
    %a = leaky_relu(%x) {alpha=0.1}
    %b = leaky_relu(%x) {alpha=0.2}
    %c = leaky_relu(%z) {alpha=0.1}
  })",
                            "common-subexpressions");
  EXPECT_EQ(out.count(OpKind::LeakyRelu), 3);
}

TEST(CommonSubexpressions, MergesEqualConstants) {
  const auto out = optimise(R"(graph @g(%x: f32[2]) -> (a = %a, b = %b) {
    %p = const f32[2] dense[1, 2]
    %q = const f32[2] dense[1, 2]
    %r = const f32[2] dense[1, 3]
    %a = add(%x, %p)
    %b0 = add(%q, %x)
    %b = add(%b0, %r)
  })",
                            "common-subexpressions,eliminate-dead-code");
  EXPECT_EQ(out.count(OpKind::Add), 2);
  EXPECT_EQ(out.after->find_tensor("q"), nullptr);
  EXPECT_NE(out.after->find_tensor("r"), nullptr);
}

TEST(FoldConstants, ComputesChainsOfConstants) {
  const auto out = optimise(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %c = const f32[2] dense[1, -2]
    %d = abs(%c)
    %e = exp(%d)
    %y = add(%x, %e)
  })",
                            "fold-constants");
  EXPECT_EQ(out.num_operations(), 1u);
  EXPECT_TRUE(out.only(OpKind::Add).input(1)->is_constant());
  EXPECT_EQ(out.only(OpKind::Add).input(1)->name(), "e");
}

TEST(FoldConstants, DoesNotGrowTheGraphBeyondTheLimit) {
  const auto out = optimise(R"(graph @g() -> (y = %y) {
    %s = const i64[2] dense[4096, 4096]
    %c = const f32[] splat(1)
    %y = expand(%c, %s)
  })",
                            "fold-constants", {.compare = false});
  EXPECT_EQ(out.num_operations(), 1u);
}

TEST(FoldConstants, LeavesDequantisedWeights) {
  const auto out = optimise(R"(graph @g() -> (y = %y) {
    %q = const i8[4] dense[1, 2, 3, 4]
    %s = const f32[] splat(0.5)
    %y = dequantize(%q, %s)
  })",
                            "fold-constants");
  EXPECT_EQ(out.num_operations(), 1u);
}

TEST(FoldShapes, KnownSizesBecomeConstants) {
  const auto out = optimise(R"(graph @g(%x: f32[N,3,8,8], %y: f32[24]) -> (z = %z) {
    %one = const i64[] splat(1)
    %two = const i64[1] splat(2)
    %zero = const i64[1] splat(0)
    %minus = const i64[1] dense[-1]
    %s = shape(%x)
    %c = gather(%s, %one)
    %c1 = unsqueeze(%c, %zero)
    %t = concat(%c1, %minus) {axis=0}
    %z = reshape(%y, %t)
  })",
                            "canonicalise");
  EXPECT_EQ(out.num_operations(), 1u) << out.text();
}

TEST(FoldShapes, ReshapeTargetKeepsOneOpenSize) {
  const auto out = optimise(R"(graph @g(%x: f32[N,3,8,8]) -> (z = %z) {
    %zero = const i64[] splat(0)
    %z0 = const i64[1] splat(0)
    %m = const i64[1] dense[192]
    %s = shape(%x)
    %n = gather(%s, %zero)
    %n1 = unsqueeze(%n, %z0)
    %t = concat(%n1, %m) {axis=0}
    %z = reshape(%x, %t)
  })",
                            "canonicalise");
  EXPECT_EQ(out.num_operations(), 1u) << out.text();
  EXPECT_TRUE(out.only(OpKind::Reshape).input(1)->is_constant());
}

// The padding is known only once the square roots are computed; the sizes that were open when the
// shape arithmetic behind it was added are then known too.
TEST(FoldShapes, FollowsSizesThatFoldingMakesKnown) {
  const auto out = optimise(R"(graph @g(%x: f32[1,28]) -> (z = %z) {
    %squares = const f32[4] dense[0, 0, 0, 64]
    %two = const i64[] splat(2)
    %one = const i64[] splat(1)
    %zero = const i64[1] splat(0)
    %minus = const i64[1] dense[-1]
    %roots = sqrt(%squares)
    %pads = cast(%roots) {to=i64}
    %padded = pad(%x, %pads)
    %s = shape(%padded)
    %n = gather(%s, %one)
    %half = div(%n, %two)
    %h = mod(%half, %n)
    %h1 = unsqueeze(%h, %zero)
    %t = concat(%minus, %h1) {axis=0}
    %y = concat(%padded, %padded) {axis=0}
    %z = reshape(%y, %t)
  })",
                            "fold-known,eliminate-dead-code");
  EXPECT_EQ(out.kinds(), "pad concat reshape") << out.text();
  EXPECT_TRUE(out.only(OpKind::Reshape).input(1)->is_constant());
}

TEST(Scaling, CleanUpIsLinear) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{4}));
  Tensor* c = graph.add_scalar("c", DType::F32, 1);
  Tensor* dead = x;
  for (int i = 0; i < 20000; ++i) {
    c = graph.add_single(OpKind::Abs, {c}).value();
    dead = graph.add_single(OpKind::Sin, {dead}).value();
  }
  graph.add_output("y", graph.add_single(OpKind::Abs, {c}).value());
  PassContext context;
  auto report = PassManager().run(graph, "canonicalise", context);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(graph.num_operations(), 0u);
  for (const PassRun& run : report->passes) EXPECT_LE(run.stats.visits, 100000) << run.name;
}

}  // namespace
}  // namespace ec
