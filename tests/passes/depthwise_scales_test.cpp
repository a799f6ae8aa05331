#include "harness.h"
#include "ops/attrs.h"

namespace ec::test {
namespace {

constexpr const char* kPass = "depthwise-scales,eliminate-dead-code";

std::string over(const std::string& type, const std::string& body) {
  return "graph @g(%x: f32[" + type + "]) -> (y = %y) {\n" + body + "\n}";
}

TEST(DepthwiseScales, FactorsAndShiftsAreOneConvolution) {
  const Outcome outcome =
      expect_kinds(over("2,4,4,6",
                        "  %ws = const f32[6] splat(0) %wb = const f32[1,1,1,6] splat(0)\n"
                        "  %m = mul(%ws, %x) loc(\"scale\" : \"Mul\")\n"
                        "  %a = add(%m, %wb) loc(\"shift\" : \"Add\")\n  %y = relu(%a)"),
                   kPass, "conv relu");
  const Operation& conv = outcome.only(OpKind::Conv);
  EXPECT_EQ(conv.attrs_as<ConvAttrs>().groups, 6);
  EXPECT_EQ(conv.attrs_as<ConvAttrs>().layout, Layout::ChannelsLast);
  EXPECT_EQ(conv.input(1)->shape()->sizes(), (std::vector<int64_t>{6, 1, 1, 1}));
  EXPECT_EQ(conv.location().nodes, (std::vector<std::string>{"scale", "shift"}));
}

TEST(DepthwiseScales, NumbersForAllChannelsStay) {
  expect_kinds(over("1,4,4,6",
                    "  %s = const f32[] splat(1.5) %wb = const f32[6] splat(0)\n"
                    "  %m = mul(%x, %s)\n  %y = add(%m, %wb)"),
               kPass, "conv");
  expect_kinds(over("1,4,4,6",
                    "  %s = const f32[] splat(1.5) %b = const f32[] splat(0.25)\n"
                    "  %m = mul(%x, %s)\n  %y = add(%m, %b)"),
               kPass, "mul add");
  expect_kinds(over("1,4,4,6", "  %s = const f32[] splat(1.5)\n  %y = mul(%x, %s)"), kPass, "mul");
}

TEST(DepthwiseScales, FactorsAlone) {
  expect_kinds(over("1,4,4,6", "  %ws = const f32[6] splat(0)\n  %y = mul(%x, %ws)"), kPass,
               "conv");
}

TEST(DepthwiseScales, LeavesWhatIsNoImageOrNotByChannel) {
  const std::string shift = "  %wb = const f32[6] splat(0)\n";
  // By row, of sequences, of two tensors, and for each element.
  expect_kinds(over("1,4,4,6", "  %ws = const f32[4,1] splat(0)\n" + shift +
                                   "  %m = mul(%x, %ws)\n  %y = add(%m, %wb)"),
               kPass, "mul add");
  expect_kinds(over("1,16,6", "  %ws = const f32[6] splat(0)\n" + shift +
                                  "  %m = mul(%x, %ws)\n  %y = add(%m, %wb)"),
               kPass, "mul add");
  expect_kinds(over("1,4,4,6", shift + "  %m = mul(%x, %x)\n  %y = add(%m, %wb)"), kPass,
               "mul add");
  expect_kinds(over("1,4,4,6", "  %ws = const f32[1,4,4,6] splat(0)\n  %y = mul(%x, %ws)"), kPass,
               "mul");
}

}  // namespace
}  // namespace ec::test
