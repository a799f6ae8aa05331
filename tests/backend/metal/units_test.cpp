// Which unit is predicted to run an operation, with the reason where it is not the best one.
#include "backend/metal/compute_units.h"

#include "passes/harness.h"

namespace ec::metal {
namespace {

OpPlacement predicted(std::string_view text, OpKind kind, ComputeUnits units = ComputeUnits::All) {
  const auto graph = test::graph_from(text);
  OpPlacement row;
  for (const Operation* op : graph->topological())
    if (op->kind() == kind) predict_unit(*op, units, row);
  return row;
}

constexpr std::string_view kConv = R"(graph @g(%x: f16[1,3,8,8]) -> (y = %y) {
  %w = const f16[2,3,3,3] splat(0) %y = conv(%x, %w)
})";

TEST(ComputeUnits, HalfPrecisionRunsOnTheNeuralEngine) {
  EXPECT_EQ(predicted(kConv, OpKind::Conv).status, "predicted: Neural Engine");
  const OpPlacement gpu = predicted(kConv, OpKind::Conv, ComputeUnits::CpuAndGpu);
  EXPECT_EQ(gpu.status, "predicted: GPU");
  EXPECT_FALSE(gpu.reason.empty());
  const OpPlacement cpu = predicted(kConv, OpKind::Conv, ComputeUnits::CpuOnly);
  EXPECT_EQ(cpu.status, "predicted: CPU");
  EXPECT_EQ(cpu.placement, Placement::Host);
}

TEST(ComputeUnits, SinglePrecisionDoesNot) {
  const OpPlacement row =
      predicted("graph @g(%x: f32[1,3,8,8]) -> (y = %y) { %y = relu(%x) }", OpKind::Relu);
  EXPECT_EQ(row.status, "predicted: GPU");
  EXPECT_NE(row.fix.find("fp16"), std::string::npos);
}

TEST(ComputeUnits, IntegersAndSortingRunOnTheCpu) {
  EXPECT_EQ(predicted("graph @g(%x: i32[4]) -> (y = %y) { %y = add(%x, %x) }", OpKind::Add).status,
            "predicted: CPU");
  EXPECT_EQ(predicted("graph @g(%x: f16[4]) -> (y = %y) { %k = const i64[1] dense[2] "
                      "%y, %i = top_k(%x, %k) {axis=0} }",
                      OpKind::TopK)
                .status,
            "predicted: CPU");
}

TEST(ComputeUnits, LimitsAreNamed) {
  const OpPlacement window =
      predicted("graph @g(%x: f16[1,3,32,32]) -> (y = %y) { %y = avg_pool(%x) {kernel=[16,16]} }",
                OpKind::AvgPool);
  EXPECT_EQ(window.status, "predicted: GPU");
  EXPECT_NE(window.reason.find("16"), std::string::npos);
  EXPECT_NE(
      predicted("graph @g(%x: f16[1,2,2,2,2]) -> (y = %y) { %y = relu(%x) }", OpKind::Relu).reason,
      "");
}

}  // namespace
}  // namespace ec::metal
