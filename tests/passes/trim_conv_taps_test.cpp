#include "harness.h"
#include "ops/attrs.h"

namespace ec::test {
namespace {

std::string conv(const std::string& image, const std::string& filter, const std::string& attrs) {
  return "graph @g(%x: f32[" + image + "]) -> (y = %y) {\n  %w = const f32[" + filter +
         "] splat(0)\n  %y = conv(%x, %w) {" + attrs + "}\n}";
}

struct Case {
  const char* name;
  const char* image;
  const char* filter;
  const char* attrs;
  std::vector<int64_t> trimmed;  // of the filter; as it was: the pass must not fire
  std::vector<int64_t> pads;
};

class TrimTaps : public ::testing::TestWithParam<Case> {};

TEST_P(TrimTaps, KeepsWhatMeetsTheImage) {
  const Case& c = GetParam();
  const Outcome outcome =
      optimise(conv(c.image, c.filter, c.attrs), "trim-conv-taps,eliminate-dead-code");
  const Operation& op = outcome.only(OpKind::Conv);
  EXPECT_EQ(op.input(1)->shape()->sizes(), c.trimmed);
  EXPECT_EQ(op.attrs_as<ConvAttrs>().pads, c.pads);
}

INSTANTIATE_TEST_SUITE_P(
    All, TrimTaps,
    ::testing::Values(
        Case{"centre_only",
             "1,2,8,8",
             "3,2,3,3",
             "dilations=[12,12], pads=[12,12,12,12]",
             {3, 2, 1, 1},
             {0, 0, 0, 0}},
        Case{"channels_last",
             "1,8,8,2",
             "3,3,3,2",
             "dilations=[9,9], pads=[9,9,9,9], layout=nhwc",
             {3, 1, 1, 2},
             {0, 0, 0, 0}},
        Case{"one_dimension",
             "1,2,4,30",
             "3,2,3,3",
             "dilations=[4,4], pads=[4,4,4,4]",
             {3, 2, 1, 3},
             {0, 4, 0, 4}},
        Case{"one_side", "1,2,3,3", "3,2,3,3", "pads=[3,3,0,0]", {3, 2, 3, 3}, {3, 3, 0, 0}},
        Case{"strided",
             "1,2,5,5",
             "3,2,3,3",
             "strides=[2,2], dilations=[6,6], pads=[6,6,6,6]",
             {3, 2, 1, 1},
             {0, 0, 0, 0}},
        Case{"depthwise",
             "1,4,6,6",
             "4,1,3,3",
             "dilations=[6,6], pads=[6,6,6,6], groups=4",
             {4, 1, 1, 1},
             {0, 0, 0, 0}},
        Case{"large_kernel", "1,2,2,2", "3,2,7,7", "pads=[3,3,3,3]", {3, 2, 3, 3}, {1, 1, 1, 1}},
        Case{"all_taps_count",
             "1,2,8,8",
             "3,2,3,3",
             "dilations=[2,2], pads=[2,2,2,2]",
             {3, 2, 3, 3},
             {2, 2, 2, 2}}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(TrimTapsNot, OfOpenSizes) {
  const Outcome outcome = optimise(
      conv("1,2,N,8", "3,2,3,3", "dilations=[12,12], pads=[12,12,12,12]"), "trim-conv-taps");
  EXPECT_EQ(outcome.only(OpKind::Conv).input(1)->shape()->sizes(),
            (std::vector<int64_t>{3, 2, 3, 3}));
}

// Zero times infinity is not zero.
TEST(TrimTapsNot, OfInfiniteWeights) {
  const Outcome outcome = optimise(
      "graph @g(%x: f32[1,1,2,2]) -> (y = %y) {\n  %k = const f32[1,1,3,3] splat(inf)\n"
      "  %y = conv(%x, %k) {dilations=[4,4], pads=[4,4,4,4]}\n}",
      "trim-conv-taps", {.compare = false});
  EXPECT_EQ(outcome.only(OpKind::Conv).input(1)->shape()->sizes(),
            (std::vector<int64_t>{1, 1, 3, 3}));
}

}  // namespace
}  // namespace ec::test
