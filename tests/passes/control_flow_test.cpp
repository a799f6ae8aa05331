#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

std::string branches(std::string_view condition) {
  return "graph @g(%x: f32[2,3], %p: bool[]) -> (y = %y) {\n"
         "  %yes = const bool[] splat(1) %no = const bool[] splat(0) %k = const f32[] splat(3)\n"
         "  %y = if(" +
         std::string(condition) + R"(, %x, %k) loc("choice")
    body graph @then(%a: f32[2,3], %b: f32[]) -> (r = %r) { %r = add(%a, %b) loc("inner") }
    body graph @else(%a: f32[2,3], %b: f32[]) -> (r = %r) { %t = neg(%a) %r = mul(%t, %b) }
})";
}

TEST(ControlFlow, TakesTheDecidedBranch) {
  const auto yes = expect_kinds(branches("%yes"), "simplify-control-flow", "add");
  EXPECT_EQ(yes.only(OpKind::Add).location().name(), "inner");
  EXPECT_EQ(yes.after->output_names()[0], "y");
  expect_kinds(branches("%no"), "simplify-control-flow", "neg mul");
}

TEST(ControlFlow, KeepsAnOpenBranchAndSinksConstants) {
  const auto out = expect_kinds(branches("%p"), "simplify-control-flow", "if {add} {neg mul}");
  EXPECT_EQ(out.only(OpKind::If).inputs().size(), 2u);
}

TEST(ControlFlow, PassesRunInsideBodies) {
  expect_kinds(R"(graph @g(%x: f32[2,3], %p: bool[]) -> (y = %y) {
    %k = const f32[] splat(1)
    %y = if(%p, %x, %k)
      body graph @then(%a: f32[2,3], %b: f32[]) -> (r = %r) { %r = mul(%a, %b) }
      body graph @else(%a: f32[2,3], %b: f32[]) -> (r = %r) { %c = neg(%b) %r = mul(%a, %c) }
  })",
               "canonicalise", "if {} {neg}");
}

TEST(ControlFlow, TrimsUnreadResultsAndCaptures) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3], %z: f32[2,3], %p: bool[]) -> (y = %y) {
    %y, %u = if(%p, %x, %z)
      body graph @then(%a: f32[2,3], %b: f32[2,3]) -> (r = %r, s = %s) { %r = abs(%a) %s = sin(%b) }
      body graph @else(%a: f32[2,3], %b: f32[2,3]) -> (r = %r, s = %s) { %r = neg(%a) %s = cos(%b) }
  })",
                            "canonicalise");
  EXPECT_EQ(out.kinds(), "if {abs} {neg}") << out.text();
  EXPECT_EQ(out.only(OpKind::If).inputs().size(), 2u);
}

std::string loop(std::string_view trips, std::string_view condition) {
  return "graph @g(%x: f32[2], %n: i64[], %p: bool[]) -> (y = %y) {\n"
         "  %zero = const i64[] splat(0) %two = const i64[] splat(2) %no = const bool[] splat(0)\n"
         "  %yes = const bool[] splat(1) %k = const f32[] splat(3)\n"
         "  %y = loop(" +
         std::string(trips) + ", " + std::string(condition) + R"(, %x, %k) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %a: f32[2], %b: f32[]) -> (c = %c, r = %r) {
      %r = add(%a, %b)
    }
})";
}

TEST(ControlFlow, SkipsLoopsThatDoNotRun) {
  expect_kinds(loop("%zero", "%yes"), "simplify-control-flow", "");
  expect_kinds(loop("%two", "%no"), "simplify-control-flow", "");
  const auto runs = expect_kinds(loop("%two", "%yes"), "simplify-control-flow", "loop {add}");
  EXPECT_EQ(runs.only(OpKind::Loop).inputs().size(), 3u);  // the constant is inside
  expect_kinds(loop("%n", "%p"), "simplify-control-flow", "loop {add}");
}

}  // namespace
}  // namespace ec
