// merge-branches.
#include "ops/attrs.h"
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::graph_from;

struct Case {
  const char* name;
  const char* body;
  const char* expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string over_x(std::string_view body) {
  return "graph @g(%x: f32[2,4,6,7], %n: f32[2,6,7,4], %u: f32[2,4,6,7]) -> (y = %y) {\n"
         "  %w3 = const f32[4,4,3,3] splat(0) %w1 = const f32[4,4,1,1] splat(0)\n"
         "  %w5 = const f32[4,4,5,5] splat(0) %wr = const f32[4,4,1,3] splat(0)\n"
         "  %wc = const f32[4,4,3,1] splat(0) %wo = const f32[6,4,3,3] splat(0)\n"
         "  %wo1 = const f32[6,4,1,1] splat(0)\n"
         "  %wd3 = const f32[4,1,3,3] splat(0) %wd1 = const f32[4,1,1,1] splat(0)\n"
         "  %wg3 = const f32[4,2,3,3] splat(0) %wl3 = const f32[4,3,3,4] splat(0)\n"
         "  %wl1 = const f32[4,1,1,4] splat(0) %wb = const f32[4] splat(0)\n"
         "  %wb2 = const f32[4] splat(0) %ws = const f32[4] splat(0) %wm = const f32[4] splat(0)\n"
         "  %v = const f32[4] dense[1,2,0.5,0.25]\n" +
         std::string(body) + "\n}";
}

class Branches : public ::testing::TestWithParam<Case> {};
TEST_P(Branches, Rewrites) {
  expect_kinds(over_x(GetParam().body), "merge-branches,eliminate-dead-code", GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Branches,
    ::testing::Values(
        Case{"point_into_square",
             "%a = conv(%x, %w3, %wb) {pads=[1,1,1,1]} %b = conv(%x, %w1, %wb2) %y = add(%a, %b)",
             "conv"},
        Case{"point_first",
             "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%x, %w1, %wb) %y = add(%b, %a)",
             "conv"},
        Case{"no_bias", "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%x, %w1) %y = add(%a, %b)",
             "conv"},
        Case{"strides",
             "%a = conv(%x, %wo) {pads=[1,1,1,1], strides=[2,2]} %b = conv(%x, %wo1) "
             "{strides=[2,2]} %y = add(%a, %b)",
             "conv"},
        Case{"three_and_normalisation",
             "%a = conv(%x, %w3, %wb) {pads=[1,1,1,1]} %b = conv(%x, %w1, %wb2) %c = "
             "batch_norm(%x, %ws, %wb, %wm, %v) %d = add(%a, %b) %y = add(%d, %c)",
             "conv"},
        Case{"normalisation_of_groups",
             "%a = conv(%x, %wg3) {pads=[1,1,1,1], groups=2} %c = batch_norm(%x, %ws, %wb, %wm, "
             "%v) %y = add(%c, %a)",
             "conv"},
        Case{"depthwise",
             "%a = conv(%x, %wd3) {pads=[1,1,1,1], groups=4} %b = conv(%x, %wd1) {groups=4} %c = "
             "batch_norm(%x, %ws, %wb, %wm, %v) %d = add(%c, %b) %y = add(%d, %a)",
             "conv"},
        Case{"points", "%a = conv(%x, %w1, %wb) %b = conv(%x, %w1) %y = add(%a, %b)", "conv"},
        Case{"rows_and_columns",
             "%a = conv(%x, %wr) {pads=[0,1,0,1]} %b = conv(%x, %wc) {pads=[1,0,1,0]} %d = add(%a, "
             "%b) %c = conv(%x, %w3) {pads=[1,1,1,1]} %y = add(%d, %c)",
             "conv"},
        Case{"rows_and_columns_alone",
             "%a = conv(%x, %wr) {pads=[0,1,0,1]} %b = conv(%x, %wc) {pads=[1,0,1,0]} %y = add(%a, "
             "%b)",
             "conv conv add"},
        Case{"dilated_into_larger",
             "%a = conv(%x, %w5) {pads=[4,4,4,4], dilations=[2,2]} %b = conv(%x, %w3) "
             "{pads=[2,2,2,2], dilations=[2,2]} %y = add(%a, %b)",
             "conv"},
        Case{"other_dilation",
             "%a = conv(%x, %w5) {pads=[2,2,2,2]} %b = conv(%x, %w3) {pads=[2,2,2,2], "
             "dilations=[2,2]} %y = add(%a, %b)",
             "conv conv add"},
        Case{"between_taps",
             "%a = conv(%x, %w3) {pads=[1,2,3,2], dilations=[2,2]} %b = conv(%x, %w1) %y = add(%a, "
             "%b)",
             "conv conv add"},
        Case{"off_the_middle",
             "%a = conv(%x, %w3) {pads=[0,2,2,0]} %b = conv(%x, %w1) %y = add(%a, %b)", "conv"},
        Case{"other_image",
             "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%u, %w1) %y = add(%a, %b)",
             "conv conv add"},
        Case{"beside_another_term",
             "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%x, %w1) %d = add(%a, %u) %y = add(%d, "
             "%b)",
             "conv add"},
        Case{"read_elsewhere",
             "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%x, %w1) %d = add(%a, %b) %y = mul(%d, "
             "%b)",
             "conv conv add mul"},
        Case{
            "activated",
            "%a = conv(%x, %w3) {pads=[1,1,1,1]} %b = conv(%x, %w1) {activation=relu} %y = add(%a, "
            "%b)",
            "conv conv add"},
        Case{"other_groups",
             "%a = conv(%x, %wg3) {pads=[1,1,1,1], groups=2} %b = conv(%x, %w1) %y = add(%a, %b)",
             "conv conv add"},
        Case{"residual", "%a = conv(%x, %w3) {pads=[1,1,1,1]} %y = add(%a, %x)", "conv add"},
        Case{"channels_last",
             "%a = conv(%n, %wl3, %wb) {pads=[1,1,1,1], layout=nhwc} %b = conv(%n, %wl1) "
             "{layout=nhwc} %c = batch_norm(%n, %ws, %wb, %wm, %v) {layout=nhwc} %d = add(%a, %b) "
             "%y = add(%d, %c)",
             "conv"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(MergeBranches, KeepsTheNamesOfAll) {
  const test::Outcome outcome =
      test::optimise(over_x("%a = conv(%x, %w3) {pads=[1,1,1,1]} loc(\"square\") "
                            "%b = conv(%x, %w1) loc(\"point\") %y = add(%a, %b) loc(\"sum\")"),
                     "merge-branches");
  const std::string text = outcome.text();
  EXPECT_NE(text.find("square"), std::string::npos);
  EXPECT_NE(text.find("point"), std::string::npos);
}

// The results of the merged graph are compared by the harness; this is about what integers lose.
struct Operations {
  int convs, norms;
};
Operations after_merging(std::string_view norm_factor, bool integer_weights) {
  const auto graph = graph_from(
      "graph @g(%x: f32[1,64,6,6]) -> (y = %y) {\n"
      "  %w3 = const f32[64,64,3,3] splat(0) %s = const f32[64] splat(" +
      std::string(norm_factor) +
      ") %z = const f32[64] splat(0) %v = const f32[64] splat(1)\n"
      "  %a = conv(%x, %w3) {pads=[1,1,1,1]} %c = batch_norm(%x, %s, %z, %z, %v)\n"
      "  %y = add(%a, %c)\n}");
  PassContext context;
  context.integer_weights = integer_weights;
  EXPECT_TRUE(PassManager().run(*graph, "merge-branches,eliminate-dead-code", context));
  return {test::count_kind(*graph, OpKind::Conv), test::count_kind(*graph, OpKind::BatchNorm)};
}

TEST(MergeBranches, LargeFactorsStayApartWhereWeightsAreRounded) {
  EXPECT_EQ(after_merging("50", false).norms, 0);
  EXPECT_EQ(after_merging("50", true).norms, 1);
  EXPECT_EQ(after_merging("1", true).norms, 0);
  EXPECT_EQ(after_merging("1", true).convs, 1);
}

}  // namespace
}  // namespace ec
