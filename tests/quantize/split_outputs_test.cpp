// Outputs that hold boxes and scores become one output for each.
#include "quantize/outputs/split_outputs.h"

#include "ops/attrs.h"
#include "passes/harness.h"

namespace ec::quantize {
namespace {

// Splits the only output, and expects that its parts, joined again, are what it was.
std::unique_ptr<Graph> split(const std::string& text, int64_t axis) {
  const auto graph = test::graph_from(text);
  auto changed = graph->clone();
  const auto result = split_outputs(*changed);
  EXPECT_TRUE(result.ok());
  if (!result || result->size() != 1) return changed;
  EXPECT_EQ(changed->output_names(), (*result)[0].parts);
  auto joined = changed->clone();
  const std::vector<Tensor*> parts = joined->outputs();
  while (!joined->outputs().empty()) joined->erase_output(joined->outputs().size() - 1);
  AxisAttrs attrs;
  attrs.axis = axis;
  const auto whole = joined->add_single(OpKind::Concat, parts, Attrs(attrs));
  EXPECT_TRUE(whole.ok());
  joined->add_output("y", *whole);
  test::expect_same_results(*graph, *joined);
  return changed;
}

TEST(SplitOutputs, OperandsOfAConcatenationAreTheOutputs) {
  const auto graph = split(R"(graph @g(%b: f32[1,4,10], %s: f32[1,3,10]) -> (y = %y) {
    %p = sigmoid(%s)
    %y = concat(%b, %p) {axis=1}
  })",
                           1);
  EXPECT_EQ(graph->output_names(), (std::vector<std::string>{"y_values", "y_scores"}));
  EXPECT_EQ(graph->outputs()[0]->name(), "b");
  EXPECT_EQ(graph->outputs()[1]->name(), "p");
}

// As YOLOX has it: parts joined in each level, levels one behind the other, then turned.
TEST(SplitOutputs, LevelsAreTakenApart) {
  const auto graph = split(R"(graph @g(%b: f32[1,4,2,2], %o: f32[1,1,2,2], %s: f32[1,3,2,2],
                                       %c: f32[1,4,1,1], %q: f32[1,1,1,1], %t: f32[1,3,1,1])
                              -> (y = %y) {
    %near = const i64[3] dense[1, 8, 4]
    %far = const i64[3] dense[1, 8, 1]
    %o1 = sigmoid(%o)
    %s1 = sigmoid(%s)
    %o2 = sigmoid(%q)
    %s2 = sigmoid(%t)
    %u = concat(%b, %o1, %s1) {axis=1}
    %v = concat(%c, %o2, %s2) {axis=1}
    %ur = reshape(%u, %near)
    %vr = reshape(%v, %far)
    %w = concat(%ur, %vr) {axis=2}
    %y = transpose(%w) {perm=[0,2,1]}
  })",
                           2);
  ASSERT_EQ(graph->output_names(), (std::vector<std::string>{"y_values", "y_scores"}));
  EXPECT_EQ(graph->outputs()[0]->shape()->sizes(), (std::vector<int64_t>{1, 5, 4}));
  EXPECT_EQ(graph->outputs()[1]->shape()->sizes(), (std::vector<int64_t>{1, 5, 4}));
  EXPECT_EQ(test::count_kind(*graph, OpKind::Slice), 0);
}

TEST(SplitOutputs, OtherOutputsStay) {
  const auto graph = test::graph_from(R"(graph @g(%x: f32[1,10]) -> (y = %y, z = %x) {
    %y = softmax(%x)
  })");
  const auto before = graph->clone();
  const auto result = split_outputs(*graph);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->empty());
  EXPECT_TRUE(*graph == *before);
}

}  // namespace
}  // namespace ec::quantize
