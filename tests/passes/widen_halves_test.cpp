#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

constexpr test::RunOptions kHalf{.tolerance = 4e-3};

TEST(WidenHalves, ComputesInSinglePrecisionBetweenCasts) {
  const auto out = expect_kinds(R"(graph @g(%x: f16[2,3]) -> (y = %y) {
    %k = const f16[] splat(3)
    %a = mul(%x, %k) %y = exp(%a)
  })",
                                "widen-halves", "cast mul exp cast", kHalf);
  EXPECT_EQ(out.after->inputs()[0]->dtype(), DType::F16);
  EXPECT_EQ(out.after->outputs()[0]->dtype(), DType::F16);
  EXPECT_EQ(out.after->output_names()[0], "y");
  EXPECT_EQ(out.only(OpKind::Mul).input(1)->dtype(), DType::F32);
  EXPECT_EQ(out.only(OpKind::Exp).output()->dtype(), DType::F32);
}

TEST(WidenHalves, CastsToHalfRoundNoMore) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) {
    %h = cast(%x) {to=f16} %a = neg(%h) %y = cast(%a) {to=f32}
  })",
                                "widen-halves,canonicalise", "neg", kHalf);
  EXPECT_EQ(out.only(OpKind::Neg).output()->dtype(), DType::F32);
}

TEST(WidenHalves, NestedGraphsKeepTheTypesOfTheirBorders) {
  const auto out = optimise(R"(graph @g(%x: f16[2,3], %p: bool[]) -> (y = %y) {
    %a = neg(%x)
    %b = if(%p, %a)
      body graph @then(%c: f16[2,3]) -> (r = %r) { %r = exp(%c) }
      body graph @else(%c: f16[2,3]) -> (r = %r) { %d = abs(%c) %r = sqrt(%d) }
    %y = tanh(%b)
  })",
                            "widen-halves", kHalf);
  EXPECT_EQ(out.kinds(), "cast neg cast if {cast exp cast} {cast abs sqrt cast} cast tanh cast")
      << out.text();
}

TEST(WidenHalves, StatesKeepTheirTypes) {
  const auto out = optimise(R"(graph @g(%x: f16[2]) -> (y = %y) {
    %zero = const f16[2] splat(0)
    %s = read_state(%zero) {name="s"}
    %y = add(%s, %x)
    %w = write_state(%y) {name="s"}
  })",
                            "widen-halves", kHalf);
  EXPECT_EQ(out.only(OpKind::ReadState).output()->dtype(), DType::F16);
  EXPECT_EQ(out.only(OpKind::WriteState).input(0)->dtype(), DType::F16);
  EXPECT_EQ(out.only(OpKind::Add).output()->dtype(), DType::F32);
}

TEST(WidenHalves, DequantizedWeightsAreSingle) {
  const auto out = optimise(R"(graph @g(%x: f16[1,2]) -> (y = %y) {
    %q = const i8[2,2] splat(3) %s = const f32[] splat(0.5)
    %w = dequantize(%q, %s) {dtype=f16}
    %y = matmul(%x, %w)
  })",
                            "widen-halves", kHalf);
  EXPECT_EQ(out.only(OpKind::Dequantize).output()->dtype(), DType::F32);
}

TEST(WidenHalves, LeavesOtherTypesAlone) {
  expect_kinds(R"(graph @g(%x: f64[2]) -> (y = %y) { %y = exp(%x) })", "widen-halves", "exp");
}

}  // namespace
}  // namespace ec
