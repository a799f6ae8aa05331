// What half precision and compressed weights cost, and what overflows.
#include "backend/metal/measure/trial.h"

#include <cmath>

#include "backend/metal/compress/compress.h"
#include "backend/metal/measure/compare.h"
#include "backend/metal/measure/simulate_half.h"
#include "ops/op_def.h"
#include "passes/harness.h"
#include "quantize/calibration/sample_source.h"
#include "runtime/executor.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

float half(float value) { return half_to_float(float_to_half(value)); }

class OneSample : public quantize::SampleSource {
 public:
  explicit OneSample(Value value) : value_(std::move(value)) {}
  size_t size() const override { return 1; }
  std::string name(size_t) const override { return "sample"; }
  Result<std::vector<Value>> read(size_t) override { return std::vector<Value>{value_}; }

 private:
  Value value_;
};

Value floats(std::vector<int64_t> shape, std::vector<float> values) {
  return Value::of<float>(std::move(shape), values);
}

TEST(HalfTrials, EveryResultIsRounded) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[3]) -> (y = %y) {
    %k = const f32[3] dense[0.1,0.2,0.3] %a = add(%x, %k) %b = mul(%a, %k) %y = neg(%b)
  })");
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const auto rounded = simulate_half(*graph);
  ASSERT_TRUE(rounded.ok());
  EXPECT_TRUE(verify(*graph).empty());
  EXPECT_EQ(rounded->size(), 3u);
  for (const Operation* op : graph->topological())
    EXPECT_TRUE(op->kind() == OpKind::Cast || op->output()->dtype() == DType::F32);
}

TEST(HalfTrials, CostIsThatOfTheRoundings) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %k = const f32[2] dense[0.1,3] %y = mul(%x, %k)
  })");
  OneSample sample(floats({2}, {1.0f / 3, 7.7f}));
  ModelJob job;
  job.samples = &sample;
  const Trial trial(*graph, job, {});
  EXPECT_TRUE(trial.overflows().empty());
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const FormCost cost = trial.cost_of(*graph, "half precision");
  EXPECT_EQ(cost.inputs, "calibration samples");
  EXPECT_EQ(cost.samples, 1);
  ASSERT_EQ(cost.outputs.size(), 1u);
  EXPECT_EQ(cost.outputs[0].name, "y");
  const float exact[] = {1.0f / 3 * 0.1f, 7.7f * 3};
  const float ours[] = {half(half(1.0f / 3) * half(0.1f)), half(half(7.7f) * half(3))};
  const float error = std::max(std::abs(exact[0] - ours[0]), std::abs(exact[1] - ours[1]));
  EXPECT_GT(error, 0);
  EXPECT_NEAR(cost.outputs[0].largest_error, double{error / exact[1]}, 1e-9);
}

TEST(HalfTrials, OverflowsStaySingleAndAreNamed) {
  constexpr std::string_view kText = R"(graph @g(%x: f32[2]) -> (y = %y) {
    %k = const f32[] splat(1000) %a = mul(%x, %k) %r = sqrt(%a) %y = neg(%r)
  })";
  auto graph = test::graph_from(kText);
  OneSample large(floats({2}, {100, 2}));
  ModelJob job;
  job.samples = &large;
  const Trial trial(*graph, job, {});
  EXPECT_EQ(trial.overflows().size(), 2u);  // what gives the number, and what reads it
  HalfPrecisionOptions options;
  options.overflows = trial.overflows();
  const auto kept = give_half_precision(*graph, options);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 2u);
  EXPECT_EQ((*kept)[0].op, "mul");
  EXPECT_NE((*kept)[0].reason.find("gives numbers up to 1e+05 on calibration samples"),
            std::string::npos)
      << (*kept)[0].reason;
  EXPECT_EQ((*kept)[1].op, "sqrt");
  EXPECT_LT(trial.cost_of(*graph, "half precision").outputs[0].largest_error, 1e-3);

  // The same network on numbers that fit.
  auto other = test::graph_from(kText);
  OneSample small(floats({2}, {10, 2}));
  job.samples = &small;
  EXPECT_TRUE(Trial(*other, job, {}).overflows().empty());
}

TEST(HalfTrials, AnOverflowThatIsNotKeptCostsEverything) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %k = const f32[] splat(1000) %a = mul(%x, %k) %y = neg(%a)
  })");
  OneSample large(floats({2}, {100, 2}));
  ModelJob job;
  job.samples = &large;
  const Trial trial(*graph, job, {});
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const FormCost cost = trial.cost_of(*graph, "half precision");
  EXPECT_EQ(cost.outputs[0].largest_error, 1e6);
  EXPECT_EQ(cost.outputs[0].sqnr_db, -120);
}

TEST(HalfTrials, RandomInputsAreCalledSo) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,3,8,8], %i: i32[2]) -> (y = %y, z = %z) {
    %w = const f32[4,3,3,3] splat(0) %y = conv(%x, %w) %z = add(%i, %i)
  })");
  const Trial trial(*graph, {}, {});
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const FormCost cost = trial.cost_of(*graph, "half precision");
  EXPECT_EQ(cost.inputs, "random inputs");
  EXPECT_EQ(cost.samples, 2);
  EXPECT_TRUE(cost.reason.empty());
  ASSERT_EQ(cost.outputs.size(), 2u);
  EXPECT_GT(cost.outputs[0].largest_error, 1e-6);
  EXPECT_LT(cost.outputs[0].largest_error, 5e-3);
  EXPECT_EQ(cost.outputs[1].largest_error, 0);
  EXPECT_EQ(cost.outputs[1].sqnr_db, 120);
}

TEST(HalfTrials, WhatCannotBeRunSaysWhy) {
  auto open = test::graph_from("graph @g(%x: f32[n]) -> (y = %y) { %y = relu(%x) }");
  EXPECT_NE(Trial(*open, {}, {}).cost_of(*open, "half precision").reason.find("open"),
            std::string::npos);
  auto large = test::graph_from(R"(graph @g(%x: f32[1,64,512,512]) -> (y = %y) {
    %w = const f32[64,64,3,3] splat(0) %y = conv(%x, %w) {pads=[1,1,1,1]}
  })");
  ModelJob job;
  job.trial_limits.work = 1000;
  const FormCost cost = Trial(*large, job, {}).cost_of(*large, "half precision");
  EXPECT_FALSE(cost.reason.empty());
  EXPECT_TRUE(cost.inputs.empty() && cost.outputs.empty());
}

// Pixels of a folded image are given with channels last.
TEST(HalfTrials, SamplesAreGivenThePackagesForm) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,2,1,2]) -> (y = %y) {
    %k = const f32[1,2,1,1] dense[1,100] %y = mul(%x, %k)
  })");
  const std::vector<uint8_t> pixels{1, 2, 3, 4};
  OneSample sample(Value::of<uint8_t>({1, 1, 2, 2}, pixels));
  ModelJob job;
  job.samples = &sample;
  const Trial trial(*graph, job, {});
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  EXPECT_EQ(trial.cost_of(*graph, "half precision").outputs[0].largest_error, 0);
  OneSample other(Value::of<uint8_t>({3}, std::vector<uint8_t>{1, 2, 3}));
  job.samples = &other;
  EXPECT_FALSE(Trial(*graph, job, {}).cost_of(*graph, "half precision").reason.empty());
}

TEST(HalfTrials, CompressedWeightsCostMore) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[1,64]) -> (y = %y) {
    %w = const f32[48,64] splat(0) %y = matmul(%x, %w) {transpose_b=true}
  })");
  const Trial trial(*graph, {}, {});
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const double precise = trial.cost_of(*graph, "half precision").outputs[0].sqnr_db;
  auto coarse = graph->clone();
  ASSERT_TRUE(compress_weights(*coarse, *parse_weight_form("palettize:2")).ok());
  auto fine = graph->clone();
  ASSERT_TRUE(compress_weights(*fine, *parse_weight_form("int8")).ok());
  const double two_bits = trial.cost_of(*coarse, "").outputs[0].sqnr_db;
  const double eight_bits = trial.cost_of(*fine, "").outputs[0].sqnr_db;
  EXPECT_GT(precise, eight_bits);
  EXPECT_GT(eight_bits, two_bits + 10);
  EXPECT_GT(two_bits, 0);
}

TEST(OutputComparisons, OfEqualAndInfiniteResults) {
  OutputComparison equal;
  equal.add(floats({2}, {1, INFINITY}), floats({2}, {1, INFINITY}));
  EXPECT_EQ(equal.cost("y").largest_error, 0);
  EXPECT_EQ(equal.cost("y").sqnr_db, 120);
  OutputComparison zeros;
  zeros.add(floats({1}, {0}), floats({1}, {1}));
  EXPECT_EQ(zeros.cost("y").largest_error, 1e6);
  EXPECT_EQ(zeros.cost("y").sqnr_db, -120);
  OutputComparison usual;
  usual.add(floats({2}, {4, 0}), floats({2}, {4, 1}));
  EXPECT_EQ(usual.cost("y").largest_error, 0.25);
  EXPECT_NEAR(usual.cost("y").sqnr_db, 12.04, 0.01);
}

}  // namespace
}  // namespace ec::metal
