// Whole graphs through all steps: structure of the integer graph, and numbers of the simulation.
#include "quantize/strategy/ptq.h"

#include <cmath>

#include "driver/registry.h"
#include "ops/kernel.h"
#include "quantize/convert/verify.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

Quantized quantize_text(const std::string& text, IoType io = IoType::Float,
                        const TargetSpec& target = tflite_spec()) {
  QuantizeRequest request = plain_request();
  request.target = &target;
  request.io = io;
  return quantize_text(test::graph_from(text), request);
}

const char* const kNetwork =
    "graph @g(%x: f32[1,8,8,3]) -> (y = %y) {\n"
    "  %w1 = const f32[8,3,3,3] splat(0) %wb1 = const f32[8] splat(0)\n"
    "  %wd = const f32[8,3,3,1] splat(0) %w2 = const f32[8,1,1,8] splat(0)\n"
    "  %wf = const f32[10,8] splat(0) %wbf = const f32[10] splat(0)\n"
    "  %axes = const i64[2] dense[1,2]\n"
    "  %c1 = conv(%x, %w1, %wb1) {layout=nhwc, pads=[1,1,1,1], activation=relu6} loc(\"stem\" : "
    "\"Conv\")\n"
    "  %c2 = conv(%c1, %wd) {layout=nhwc, groups=8, pads=[1,1,1,1], activation=relu}\n"
    "  %c3 = conv(%c2, %w2) {layout=nhwc}\n"
    "  %r = add(%c1, %c3)\n"
    "  %m = reduce_mean(%r, %axes) {keep_dims=false}\n"
    "  %f = gemm(%m, %wf, %wbf) {transpose_b=true}\n"
    "  %y = softmax(%f) {axis=-1}\n}";

TEST(Ptq, ResidualNetworkBecomesInteger) {
  const Quantized q = quantize_text(kNetwork);
  EXPECT_EQ(q.count(OpKind::Quantize), 1);
  EXPECT_EQ(q.count(OpKind::Dequantize), 1);
  EXPECT_EQ(q.result.report.integer_ops, 7);
  EXPECT_EQ(q.result.report.float_ops, 0);
  EXPECT_EQ(q.type("c1").dtype, DType::I8);
  EXPECT_EQ(q.type("w1").quant->axis, 0);
  EXPECT_EQ(q.type("w1").quant->scales.size(), 8u);
  EXPECT_EQ(q.type("wf").quant->scales.size(), 10u);
  EXPECT_EQ(q.type("wb1").dtype, DType::I32);
  EXPECT_EQ(q.type("y").quant->scales[0], 1.0f / 256);
  EXPECT_EQ(q.graph().inputs()[0]->dtype(), DType::F32);
  EXPECT_EQ(q.graph().output_names()[0], "y");
  EXPECT_EQ(q.graph().metadata().count("preprocessing"), 0u);  // samples are arrays
}

TEST(Ptq, CoralHasOneScaleForDenseWeights) {
  EXPECT_EQ(quantize_text(kNetwork, IoType::Int8, coral_spec()).type("wf").quant->scales.size(),
            1u);
}

TEST(Ptq, IntegerInterfaces) {
  const Quantized int8 = quantize_text(kNetwork, IoType::Int8);
  EXPECT_EQ(int8.graph().inputs()[0]->dtype(), DType::I8);
  EXPECT_EQ(int8.graph().outputs()[0]->dtype(), DType::I8);
  EXPECT_EQ(int8.count(OpKind::Quantize) + int8.count(OpKind::Dequantize), 0);
  const Quantized uint8 = quantize_text(kNetwork, IoType::Uint8);
  const Tensor* input = uint8.graph().inputs()[0];
  EXPECT_EQ(input->dtype(), DType::U8);
  EXPECT_EQ(input->name(), "x");
  EXPECT_EQ(input->type().quant->zero_points[0],
            int8.graph().inputs()[0]->type().quant->zero_points[0] + 128);
  EXPECT_EQ(uint8.graph().outputs()[0]->dtype(), DType::U8);
  EXPECT_EQ(uint8.count(OpKind::Quantize), 2);
}

TEST(Ptq, ReportMeasuresEveryLayer) {
  const Quantized q = quantize_text(kNetwork);
  const AccuracyReport& accuracy = q.result.report.accuracy;
  EXPECT_TRUE(accuracy.held_out);
  EXPECT_EQ(accuracy.samples, 2u);
  EXPECT_EQ(q.result.report.calibration_samples, 22u);
  ASSERT_EQ(accuracy.layers.size(), 7u);
  EXPECT_EQ(accuracy.layers[0].name, "stem");
  for (const LayerAccuracy& layer : accuracy.layers) {
    EXPECT_GT(layer.error.sqnr_db(), 20.0) << layer.tensor;
    EXPECT_GT(layer.error.cosine(), 0.99) << layer.tensor;
  }
  ASSERT_EQ(accuracy.outputs.size(), 1u);
  EXPECT_TRUE(accuracy.outputs[0].top1_agreement.has_value());
  EXPECT_EQ(q.result.report.steps.size(), std::size(ptq::kSteps));
}

TEST(Ptq, ReportLeavesOutWhatIsClippedByAFusedActivation) {
  const Quantized q = quantize_text(
      "graph @g(%x: f32[1,64], %z: f32[1,64]) -> (y = %y) {\n"
      "  %a = add(%x, %z)\n  %y = relu(%a)\n}");
  ASSERT_EQ(q.result.report.accuracy.layers.size(), 1u);
  EXPECT_EQ(q.result.report.accuracy.layers[0].tensor, "y");
  EXPECT_GT(q.result.report.accuracy.layers[0].error.sqnr_db(), 30.0);
}

TEST(Ptq, FloatOperationsStandBetweenDequantizeAndQuantize) {
  const Quantized q = quantize_text(
      "graph @g(%x: f32[1,4]) -> (y = %y) {\n"
      "  %a = relu(%x)\n  %s = sin(%a) loc(\"odd\" : \"Sin\")\n  %y = hard_swish(%s)\n}");
  EXPECT_EQ(q.count(OpKind::Quantize), 2);
  EXPECT_EQ(q.count(OpKind::Dequantize), 2);
  ASSERT_EQ(q.result.report.kept_in_float.size(), 1u);
  EXPECT_EQ(q.result.report.kept_in_float[0].name, "odd");
  EXPECT_EQ(q.type("s").dtype, DType::F32);
  ASSERT_FALSE(q.sink.diagnostics().empty());
  EXPECT_EQ(q.sink.diagnostics()[0].code, Code::KeptInFloat);
}

TEST(Ptq, SharedConstantsAreQuantisedForEachUse) {
  // The same constant is weights of one layer and an operand of another operation.
  const Quantized q = quantize_text(
      "graph @g(%x: f32[2,2]) -> (y = %y, z = %z) {\n"
      "  %k = const f32[2,2] dense[1,-3,0.5,2]\n"
      "  %y = gemm(%x, %k) {transpose_b=true}\n  %z = add(%x, %k)\n}");
  int constants = 0;
  for (const Tensor* tensor : q.graph().tensors())
    constants += tensor->is_constant() && tensor->dtype() == DType::I8;
  EXPECT_EQ(constants, 2);
}

TEST(Ptq, OutputsThatAreAlsoReadInside) {
  const Quantized q = quantize_text(
      "graph @g(%x: f32[1,4]) -> (a = %a, y = %y, again = %a, x = %x) {\n"
      "  %a = relu(%x)\n  %y = mul(%a, %a)\n}");
  ASSERT_EQ(q.graph().outputs().size(), 4u);
  for (const Tensor* output : q.graph().outputs()) EXPECT_EQ(output->dtype(), DType::F32);
  EXPECT_EQ(q.graph().outputs()[0], q.graph().outputs()[2]);
}

TEST(Ptq, RequantisesPrescribedOperandsOfAConcat) {
  const Quantized q = quantize_text(
      "graph @g(%x: f32[1,4]) -> (y = %y) {\n"
      "  %s = sigmoid(%x)\n  %t = tanh(%x)\n  %y = concat(%s, %t) {axis=1}\n}");
  EXPECT_EQ(q.count(OpKind::Quantize), 3);
  const Operation* concat = q.graph().find_tensor("y")->producer();
  for (const Tensor* operand : concat->inputs())
    EXPECT_EQ(operand->type().quant, concat->output()->type().quant);
}

TEST(Ptq, PadValuesFollowTheInput) {
  const Quantized q = quantize_text(
      "graph @g(%x: f32[1,4]) -> (y = %y) {\n"
      "  %p = const i64[4] dense[0,1,0,1] %v = const f32[] splat(0)\n"
      "  %y = pad(%x, %p, %v)\n}");
  const Operation* pad = q.graph().find_tensor("y")->producer();
  EXPECT_EQ(pad->input(2)->type().quant, pad->output()->type().quant);
  EXPECT_EQ(pad->input(2)->values<int8_t>()[0], pad->output()->type().quant->zero_points[0]);
}

// The integer kernels compute what the simulation says, but for the rounding of their multipliers.
TEST(Ptq, IntegerKernelsAgreeWithTheSimulation) {
  const Quantized q = quantize_text(kNetwork);
  const Plan plan = make_plan(*q.source, tflite_spec(), {});
  FormParams params(2 * q.source->tensor_id_bound());
  for (const Tensor* tensor : q.source->tensors()) {
    if (!plan.quantized[plan.stored_form(tensor)]) continue;
    const std::string name = tensor->is_input() ? tensor->name() + "_quantized" : tensor->name();
    params[plan.stored_form(tensor)] = q.type(name).quant;
  }
  const LayerWeights weights = round_weights(*q.source, plan, params);
  const Result<Conversion> simulated =
      convert(*q.source, plan, params, weights, IoType::Float, GraphForm::Simulated);
  ASSERT_TRUE(simulated.ok());
  for (const std::vector<Value>& sample : noise(*q.source, 4)) {
    const auto expected = interpret(*simulated->graph, sample);
    const auto got = interpret(q.graph(), sample);
    ASSERT_TRUE(expected.ok() && got.ok()) << (got.ok() ? "" : got.error().message());
    const auto a = expected->at(0).as<float>(), b = got->at(0).as<float>();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2.01f / 256) << i;
  }
}

TEST(Ptq, SameGraphSameResult) {
  EXPECT_TRUE(quantize_text(kNetwork).graph() == quantize_text(kNetwork).graph());
}

TEST(Ptq, RefusesWhatIsQuantisedAlready) {
  const Quantized q = quantize_text(kNetwork);
  std::vector<ModelInput> inputs{{"x", q.source->inputs()[0]->type()}};
  auto samples = samples_in_memory(noise(*q.source, 2), inputs);
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.samples = samples->get();
  DiagnosticSink sink;
  EXPECT_FALSE(strategy("ptq").run(q.graph(), request, sink).ok());
}

TEST(Ptq, NamesTheNodeWhereNumbersBreak) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,2]) -> (y = %y) {\n"
      "  %l = log(%x) loc(\"ln\" : \"Log\")\n  %y = relu(%l)\n}");
  auto samples = samples_in_memory(noise(*graph, 2), {{"x", graph->inputs()[0]->type()}});
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.samples = samples->get();
  DiagnosticSink sink;
  const auto result = strategy("ptq").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::BadCalibrationData);
  EXPECT_EQ(result.error().diagnostic().node, "ln");
}

TEST(Verify, FindsBrokenParameters) {
  for (const QuantParams& bad :
       {QuantParams{{0.0f}, {0}, -1}, QuantParams{{NAN}, {0}, -1}, QuantParams{{1.0f}, {200}, -1},
        QuantParams{{1.0f, 1.0f}, {0, 0}, 0}, QuantParams{{1.0f}, {}, -1},
        QuantParams{{1.0f}, {0}, 7}}) {
    Quantized q = quantize_text(kNetwork);
    q.result.graph->set_quant(q.result.graph->find_tensor("c1"), bad);
    DiagnosticSink sink;
    EXPECT_FALSE(verify_quantized(q.graph(), sink).ok());
  }
}

TEST(Strategies, AreFoundByName) {
  EXPECT_EQ((*default_registry().find_strategy("int8"))->name, "ptq");
  EXPECT_FALSE(default_registry().find_strategy("ptx").ok());
  EXPECT_NE(default_registry().find_strategy("ptx").error().diagnostic().hint.find("ptq"),
            std::string::npos);
}

}  // namespace
}  // namespace ec::quantize
