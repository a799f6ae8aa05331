// Strategies that store weights smaller: what they take, what they leave, and what it costs.
#include "quantize/strategy/weight_only.h"

#include "ops/attrs.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

Quantized store(const char* text, std::string_view strategy,
                const QuantizeRequest& request = plain_request()) {
  return quantize_text(test::graph_from(text), request, strategy);
}

const char* const kNetwork =
    "graph @g(%x: f32[1,6,6,16]) -> (y = %y) {\n"
    "  %w1 = const f32[32,3,3,16] splat(0) %b1 = const f32[32] splat(0)\n"
    "  %wd = const f32[32,3,3,1] splat(0) %wt = const f32[32,3,3,8] splat(0)\n"
    "  %wf = const f32[80,8] splat(0) %ws = const f32[4,80] splat(0)\n"
    "  %axes = const i64[2] dense[1,2]\n"
    "  %c1 = conv(%x, %w1, %b1) {layout=nhwc, pads=[1,1,1,1], activation=relu} loc(\"stem\" : "
    "\"Conv\")\n"
    "  %c2 = conv(%c1, %wd) {layout=nhwc, groups=32, pads=[1,1,1,1]}\n"
    "  %t = conv_transpose(%c2, %wt) {layout=nhwc}\n"
    "  %m = reduce_mean(%t, %axes) {keep_dims=false}\n"
    "  %f = gemm(%m, %wf) {transpose_b=true}\n"
    "  %y = gemm(%f, %ws) {transpose_b=true} loc(\"head\" : \"Gemm\")\n}";

TEST(Dynamic, LargeWeightsBecomeIntegers) {
  const Quantized q = store(kNetwork, "dynamic");
  EXPECT_EQ(q.type("w1").dtype, DType::I8);
  EXPECT_EQ(q.type("w1").quant->scales.size(), 32u);
  EXPECT_EQ(q.type("wt").quant->axis, 3);
  EXPECT_EQ(q.type("b1").dtype, DType::F32);
  EXPECT_EQ(q.type("c1").dtype, DType::F32);
  // 288, 640 and 320 weights: fewer than are worth it.
  for (const char* name : {"wd", "wf", "ws"}) EXPECT_EQ(q.type(name).dtype, DType::F32) << name;
  const QuantizeReport& report = q.result.report;
  ASSERT_EQ(report.stored_weights.size(), 2u);
  EXPECT_EQ(report.stored_weights[0].bytes_before, 32 * 9 * 16 * 4);
  EXPECT_EQ(report.stored_weights[0].bytes_after, 32 * 9 * 16 + 32 * 4);
  // Uniform noise on 127 steps: 20 log10(127) + 10 log10(12 / 3 / 4 * 4) dB, about.
  EXPECT_NEAR(report.stored_weights[0].error.sqnr_db(), 48, 1);
  EXPECT_EQ(report.kept_in_float.size(), 3u);
  ASSERT_EQ(report.accuracy.outputs.size(), 1u);
  EXPECT_GT(report.accuracy.outputs[0].error.sqnr_db(), 30);
  EXPECT_LT(report.accuracy.outputs[0].error.sqnr_db(), 60);
  EXPECT_EQ(q.count(OpKind::Dequantize) + q.count(OpKind::Quantize), 0);
}

TEST(Dynamic, IntegersOfTheModelStay) {
  // Steps of 0.25, of which the largest is 3: rounded anew, the scale would be 0.75 / 127.
  const char* const text =
      "graph @g(%x: f32[1,64]) -> (y = %y) {\n"
      "  %stored = const f32[32,64] splat(-0.75)\n"
      "  %y = gemm(%x, %stored) {transpose_b=true} loc(\"layer\" : \"Gemm\")\n}";
  QuantizeRequest request = plain_request();
  request.recorded["layer"] = QuantParams{{0.25F}, {0}, -1};
  const Quantized q = store(text, "dynamic", request);
  EXPECT_EQ(q.type("stored").dtype, DType::I8);
  EXPECT_EQ(q.type("stored").quant->scales,
            std::vector<float>(q.type("stored").quant->scales.size(), 0.25F));
  request.recorded["layer"] = QuantParams{{0.2F}, {0}, -1};  // not its steps
  EXPECT_NE(store(text, "dynamic", request).type("stored").quant->scales[0], 0.2F);
}

TEST(Dynamic, OptionsDecide) {
  QuantizeRequest request = plain_request();
  request.weights_per_tensor = true;
  request.keep_float = {"st*"};
  const Quantized q = store(kNetwork, "dynamic", request);
  EXPECT_EQ(q.type("w1").dtype, DType::F32);
  EXPECT_EQ(q.type("wt").quant->scales.size(), 1u);
  EXPECT_EQ(q.result.report.kept_in_float[0].reason, "--keep-float st*");
}

TEST(Dynamic, ProductsRoundTheirRows) {
  const Quantized q = store(
      "graph @g(%x: f32[2,3,64]) -> (y = %y, z = %z) {\n"
      "  %w = const f32[32,64] splat(0) %wv = const f32[2,64,32] splat(0)\n"
      "  %y = matmul(%x, %w) {transpose_b=true}\n"
      "  %z = matmul(%x, %wv)\n}",
      "dynamic");
  EXPECT_EQ(q.type("w").quant->scales.size(), 32u);
  EXPECT_EQ(q.type("wv").quant->scales.size(), 1u);  // batched products have one scale
  for (const Operation* op : q.graph().topological())
    EXPECT_TRUE(op->attrs_as<MatMulAttrs>().asymmetric_quantize_inputs);
  for (const OutputAccuracy& output : q.result.report.accuracy.outputs)
    EXPECT_GT(output.error.sqnr_db(), 35);
}

TEST(Dynamic, TablesAreGatheredAsIntegers) {
  QuantizeRequest request = plain_request();
  request.target = &tflite_spec();
  std::unique_ptr<Graph> graph = test::graph_from(
      "graph @g(%i: i64[5]) -> (y = %y) {\n"
      "  %wtable = const f32[100,16] splat(0)\n  %y = gather(%wtable, %i) {axis=0}\n}");
  DiagnosticSink sink;
  Result<QuantizeResult> result = strategy("dynamic").run(*graph, request, sink);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(test::count_kind(*result->graph, OpKind::Dequantize), 1);
  EXPECT_EQ(result->graph->outputs()[0]->dtype(), DType::F32);
  EXPECT_EQ(result->graph->find_tensor("wtable")->dtype(), DType::I8);
  EXPECT_EQ(result->report.accuracy.samples, 0u);  // none were given
  for (const Diagnostic& fault : verify(*result->graph)) ADD_FAILURE() << fault.message;
}

// Groups have no kernel: what is stored small is read as floats.
TEST(Dynamic, GroupedConvolutionsReadFloats) {
  const Quantized q = store(
      "graph @g(%x: f32[1,4,4,16]) -> (y = %y) {\n"
      "  %w = const f32[64,3,3,8] splat(0)\n"
      "  %y = conv(%x, %w) {layout=nhwc, groups=2, pads=[1,1,1,1]}\n}",
      "dynamic");
  EXPECT_EQ(q.count(OpKind::Dequantize), 1);
  EXPECT_EQ(q.type("w").dtype, DType::I8);
}

TEST(Float16, ConstantsAreHalved) {
  const Quantized q = store(kNetwork, "float16");
  EXPECT_EQ(q.type("w1").dtype, DType::F16);
  EXPECT_EQ(q.type("b1").dtype, DType::F32);  // too small to pay for a conversion
  EXPECT_EQ(q.count(OpKind::Cast), 5);
  EXPECT_GT(q.result.report.accuracy.outputs[0].error.sqnr_db(), 60);
  EXPECT_GT(q.result.report.stored_weights[0].error.sqnr_db(), 65);
}

TEST(Float16, ValuesBeyondItsRangeStay) {
  std::unique_ptr<Graph> graph = test::graph_from(
      "graph @g(%x: f32[64]) -> (y = %y) {\n"
      "  %w = const f32[64] splat(0)\n  %y = add(%x, %w)\n}");
  Tensor* weights = graph->find_tensor("w");
  const std::vector<float> large(64, 100000.0f);
  graph->set_constant_data(weights, weights->type(), Blob::copy_of(std::span<const float>(large)));
  const Quantized q = quantize_text(std::move(graph), plain_request(), "float16");
  EXPECT_EQ(q.type("w").dtype, DType::F32);
  ASSERT_EQ(q.result.report.kept_in_float.size(), 1u);
  EXPECT_NE(q.result.report.kept_in_float[0].reason.find("'w'"), std::string::npos);
}

TEST(StoredWeights, TargetsWithoutThemSaySo) {
  QuantizeRequest request = plain_request();
  request.target = &coral_spec();
  const std::unique_ptr<Graph> graph = test::graph_from(kNetwork);
  DiagnosticSink sink;
  for (const char* name : {"dynamic", "float16"}) {
    const Result<QuantizeResult> result = strategy(name).run(*graph, request, sink);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), Code::Usage);
    EXPECT_NE(result.error().message().find("'coral'"), std::string::npos);
    EXPECT_NE(result.error().diagnostic().hint.find("ptq"), std::string::npos);
  }
}

TEST(StoredWeights, AskedAccuracyHoldsOrIsAnError) {
  QuantizeRequest request = plain_request();
  request.budget.min_sqnr = 100;
  std::unique_ptr<Graph> graph = test::graph_from(kNetwork);
  auto samples = samples_in_memory(noise(*graph, 4), {{"x", graph->inputs()[0]->type()}});
  ASSERT_TRUE(samples.ok());
  request.samples = samples->get();
  DiagnosticSink sink;
  const Result<QuantizeResult> result = strategy("dynamic").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::AccuracyNotMet);
}

}  // namespace
}  // namespace ec::quantize
