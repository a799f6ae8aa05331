// Operations that stay in single precision and weights that stay as they are, for a limit.
#include "backend/metal/measure/limit.h"

#include "passes/harness.h"
#include "quantize/calibration/sample_source.h"

namespace ec::metal {
namespace {

class Samples : public quantize::SampleSource {
 public:
  explicit Samples(std::vector<Value> values) : values_(std::move(values)) {}
  size_t size() const override { return values_.size(); }
  std::string name(size_t) const override { return "sample"; }
  Result<std::vector<Value>> read(size_t index) override {
    return std::vector<Value>{values_[index]};
  }

 private:
  std::vector<Value> values_;
};

Value floats(std::vector<int64_t> shape, std::vector<float> values) {
  return Value::of<float>(std::move(shape), values);
}

quantize::AccuracyBudget sqnr(double least) { return {std::nullopt, least}; }

// The difference of two large numbers: half precision loses most of it.
constexpr std::string_view kDelicate = R"(graph @g(%x: f32[4]) -> (y = %y) {
  %k = const f32[] splat(2048.3) %h = const f32[] splat(0.5)
  %a = add(%x, %k) %b = sub(%a, %k) %y = mul(%b, %h)
})";

TEST(AccuracyLimits, OperationsThatCostMostStaySingle) {
  auto graph = test::graph_from(kDelicate);
  Samples samples({floats({4}, {0.3f, 1.7f, -2.9f, 4.1f})});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit = sqnr(60);
  const Trial trial(*graph, job, {}, limit);
  ASSERT_TRUE(trial.reason().empty()) << trial.reason();
  HalfPrecisionOptions options;
  ASSERT_TRUE(AccuracyLimit(trial, limit).keep_single(*graph, options).ok());
  ASSERT_FALSE(options.overflows.empty());
  EXPECT_LT(options.overflows.size(), 4u);
  for (const auto& [op, reason] : options.overflows)
    EXPECT_NE(reason.find("kept for --min-sqnr 60"), std::string::npos) << reason;
  ASSERT_TRUE(give_half_precision(*graph, options).ok());
  EXPECT_GE(trial.cost_of(*graph, "half precision").outputs[0].sqnr_db, 60);
}

TEST(AccuracyLimits, WhatHoldsAnywayKeepsNothing) {
  auto graph = test::graph_from(kDelicate);
  Samples samples({floats({4}, {0.3f, 1.7f, -2.9f, 4.1f})});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit = sqnr(0);
  const Trial trial(*graph, job, {}, limit);
  HalfPrecisionOptions options;
  ASSERT_TRUE(AccuracyLimit(trial, limit).keep_single(*graph, options).ok());
  EXPECT_TRUE(options.overflows.empty());
}

TEST(AccuracyLimits, AnswersAreCounted) {
  // Half precision loses what was added to a large number, and another score is the largest.
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,3]) -> (y = %y) {
    %k = const f32[] splat(2048) %o = const f32[1,3] dense[0,0.5,-9]
    %a = add(%x, %k) %b = sub(%a, %k) %c = add(%b, %o) %y = softmax(%c) {axis=1}
  })");
  Samples samples({floats({1, 3}, {0.9f, 0, 0}), floats({1, 3}, {9, 1, 0})});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit{0.1, std::nullopt};
  const Trial trial(*graph, job, {}, limit);
  auto halved = graph->clone();
  ASSERT_TRUE(give_half_precision(*halved, {}).ok());
  const auto all = trial.judge(*halved);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->agreement, 0.5);
  HalfPrecisionOptions options;
  ASSERT_TRUE(AccuracyLimit(trial, limit).keep_single(*graph, options).ok());
  ASSERT_TRUE(give_half_precision(*graph, options).ok());
  EXPECT_EQ(trial.judge(*graph)->agreement, 1);
}

TEST(AccuracyLimits, ModelsWithoutAnswersAreRefusedADrop) {
  auto graph = test::graph_from("graph @g(%x: f32[1,3,1,2]) -> (y = %y) { %y = relu(%x) }");
  Samples samples({floats({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit{0.1, std::nullopt};
  const Trial trial(*graph, job, {}, limit);
  HalfPrecisionOptions options;
  const Status status = AccuracyLimit(trial, limit).keep_single(*graph, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::Usage);
}

TEST(AccuracyLimits, WeightsThatCostMostStay) {
  // The second layer is behind a factor of a thousandth: its weights show little.
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,64]) -> (y = %y) {
    %v = const f32[48,64] splat(0.3) %w = const f32[48,64] splat(0.3)
    %k = const f32[] splat(0.001)
    %a = matmul(%x, %v) {transpose_b=true} %b = matmul(%x, %w) {transpose_b=true}
    %c = mul(%b, %k) %y = add(%a, %c)
  })");
  std::vector<float> values(64 * 48);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 2654435761u) % 1000) / 1000 - 0.4f;
  for (Operation* op : graph->topological())
    if (op->kind() == OpKind::MatMul)
      graph->set_constant_data(op->input(1), op->input(1)->type(),
                               Blob::copy_of(std::span<const float>(values)));
  std::vector<float> input(64);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 7) - 3;
  Samples samples({floats({1, 64}, input)});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit = sqnr(50);
  const Trial trial(*graph, job, {}, limit);
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const auto left =
      AccuracyLimit(trial, limit).leave_weights(*graph, *parse_weight_form("palettize:2"));
  ASSERT_TRUE(left.ok()) << left.error().message();
  EXPECT_EQ(*left, (std::vector<bool>{true, false}));
  const auto weights = compress_weights(*graph, *parse_weight_form("palettize:2"), {*left, false});
  ASSERT_TRUE(weights.ok());
  ASSERT_EQ(weights->told.size(), 2u);
  EXPECT_EQ(weights->told[0].bytes_after, weights->told[0].bytes_before);
  EXPECT_LT(weights->told[1].bytes_after, weights->told[1].bytes_before);
  EXPECT_EQ(weights->stored.size(), 1u);
  EXPECT_GE(trial.cost_of(*graph, "").outputs[0].sqnr_db, 50);
}

TEST(AccuracyLimits, WhatCannotBeRunIsAnError) {
  auto graph = test::graph_from("graph @g(%x: f32[3]) -> (y = %y) { %y = relu(%x) }");
  Samples samples({floats({2}, {1, 2})});
  ModelJob job;
  job.samples = &samples;
  const quantize::AccuracyBudget limit = sqnr(10);
  const Trial trial(*graph, job, {}, limit);
  HalfPrecisionOptions options;
  const Status status = AccuracyLimit(trial, limit).keep_single(*graph, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::AccuracyNotMet);
}

}  // namespace
}  // namespace ec::metal
