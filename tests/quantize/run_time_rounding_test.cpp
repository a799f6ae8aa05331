// Layers that quantise their inputs at run time, as float layers with stored weights.
#include "quantize/strategy/run_time_rounding.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "quantize/quantized_text.h"
#include "quantize/strategy/qdq_parameters.h"

namespace ec::quantize {
namespace {

// Readable by the last output alone.
std::vector<OpKind> kinds_that_count(const Graph& graph) {
  std::vector<OpKind> kinds;
  std::vector<const Tensor*> open{graph.outputs().front()};
  while (!open.empty()) {
    const Operation* op = open.back()->producer();
    open.pop_back();
    if (op == nullptr) continue;
    kinds.push_back(op->kind());
    for (const Tensor* input : op->inputs())
      if (input != nullptr) open.push_back(input);
  }
  return kinds;
}

// MatMulInteger as the importer writes it, with the product of both scales behind it.
std::string matmul_integer(std::string_view weights_scale, std::string_view factor = "%s",
                           std::string_view type = "f32") {
  const std::string to = " {to=" + std::string(type) + "}";
  return "graph @g(%x: f32[2,3]) -> (y = %y) {\n"
         "  %k = const u8[3,2] dense[0,128,255,130,127,1] %c = const u8[] dense[128]\n"
         "  %scale = const " +
         std::string(weights_scale) +
         "\n  %q, %s, %z = dynamic_quantize(%x)\n"
         "  %qf = cast(%q)" +
         to + " %zf = cast(%z)" + to + " %d = sub(%qf, %zf)\n  %kf = cast(%k)" + to +
         " %cf = cast(%c)" + to +
         " %v = sub(%kf, %cf)\n  %a = matmul(%d, %v) loc(\"layer\" : \"MatMulInteger\")\n"
         "  %ai = cast(%a) {to=i32} %af = cast(%ai)\n  %both = mul(" +
         std::string(factor) + ", %scale)\n  %y = mul(%af, %both)\n}";
}

TEST(RunTimeRounding, IntegerProductsBecomeFloatLayersWithTheirWeights) {
  for (const char* type : {"f32", "f64", "i32"}) {
    auto graph = test::graph_from(matmul_integer("f32[] dense[0.5]", "%s", type));
    const auto dropped = drop_run_time_rounding(*graph);
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(*dropped, 1u);
    EXPECT_EQ(kinds_that_count(*graph), (std::vector{OpKind::MatMul, OpKind::Dequantize}));
    const RecordedWeights recorded = record_weights(*graph);
    ASSERT_EQ(recorded.count("layer"), 1u);
    EXPECT_EQ(recorded.at("layer").scales, std::vector<float>{0.5F});
    EXPECT_EQ(recorded.at("layer").zero_points, std::vector<int32_t>{0});
  }
}

TEST(RunTimeRounding, ColumnsMayHaveScalesOfTheirOwn) {
  auto graph = test::graph_from(matmul_integer("f32[2] dense[0.5, 2]"));
  const auto dropped = drop_run_time_rounding(*graph);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 1u);
  const Operation* weights = graph->outputs().front()->producer()->input(1)->producer();
  EXPECT_EQ(weights->attrs_as<DequantizeAttrs>().axis, 1);
}

TEST(RunTimeRounding, RecurrentLayersReadFloats) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[2,1,3]) -> (y = %y) {\n"
      "  %k = const f32[1,8,3] splat(0.1) %r = const f32[1,8,2] splat(0.1)\n"
      "  %y, %h, %c = lstm(%x, %k, %r) {hidden_size=2, dynamic_quantize_inputs=true}\n}");
  const auto dropped = drop_run_time_rounding(*graph);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 1u);
  EXPECT_FALSE(
      graph->outputs().front()->producer()->attrs_as<RecurrentAttrs>().dynamic_quantize_inputs);
}

TEST(RunTimeRounding, OtherFactorsStay) {
  // The scale of something else, and one for each row.
  for (const std::string& text :
       {matmul_integer("f32[] dense[0.5]", "%scale"), matmul_integer("f32[2,1] dense[0.5, 2]")}) {
    auto graph = test::graph_from(text);
    const auto dropped = drop_run_time_rounding(*graph);
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(*dropped, 0u);
  }
}

TEST(RunTimeRounding, PairsWithComputedScalesGiveWhatTheyRound) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[4]) -> (y = %y) {\n"
      "  %c = const f32[] dense[127] %n = const u8[] dense[127] %none = const i64[0] dense[]\n"
      "  %m = reduce_max(%x) {keep_dims=false} %s = div(%m, %c) %z = const u8[] dense[0]\n"
      "  %s1 = reshape(%s, %none) {allow_zero=true} %s2 = reshape(%s, %none) {allow_zero=true}\n"
      "  %q = quantize(%x, %s1, %z) {dtype=u8} %least = min(%q, %n)\n"
      "  %d = dequantize(%least, %s2, %z) %y = abs(%d)\n}");
  const auto dropped = drop_run_time_rounding(*graph);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 1u);
  EXPECT_EQ(kinds_that_count(*graph), std::vector{OpKind::Abs});
}

TEST(RunTimeRounding, PairsWithStoredScalesStay) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[4]) -> (y = %y) {\n"
      "  %s = const f32[] dense[0.5] %z = const u8[] dense[0]\n"
      "  %q = quantize(%x, %s, %z) {dtype=u8} %y = dequantize(%q, %s, %z)\n}");
  const auto dropped = drop_run_time_rounding(*graph);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 0u);
}

}  // namespace
}  // namespace ec::quantize
