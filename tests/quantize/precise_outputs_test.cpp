#include "quantize/plan/precise_outputs.h"

#include "ops/kernel.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

// A classifier whose last layer is little of the work.
std::string classifier(const std::string& end, const std::string& outputs = "y = %y") {
  return "graph @g(%x: f32[1,16,16,8]) -> (" + outputs +
         ") {\n"
         "  %w = const f32[32,3,3,8] splat(0) %wf = const f32[10,32] splat(0)\n"
         "  %wb = const f32[10] splat(0) %axes = const i64[2] dense[1,2]\n"
         "  %c = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1], activation=relu}\n"
         "  %m = reduce_mean(%c, %axes) {keep_dims=false}\n"
         "  %s = gemm(%m, %wf, %wb) {transpose_b=true}\n  " +
         end + "\n}";
}

Quantized quantized(const std::string& text, Switch wanted, IoType io = IoType::Float,
                    const TargetSpec& target = tflite_spec()) {
  QuantizeRequest request = plain_request();
  request.target = &target;
  request.io = io;
  request.methods.precise_outputs = wanted;
  return quantize_text(test::graph_from(text), request);
}

const MethodGain* gain_of(const Quantized& q) {
  for (const MethodGain& gain : q.result.report.methods)
    if (gain.method == "precise-outputs") return &gain;
  return nullptr;
}

TEST(PreciseOutputs, ScoresHave16BitsAndTheSoftmaxFloats) {
  const Quantized q = quantized(classifier("%y = softmax(%s) {axis=-1}"), Switch::Auto);
  EXPECT_EQ(q.type("c").dtype, DType::I8);
  EXPECT_EQ(q.type("s").dtype, DType::I16);
  EXPECT_EQ(q.type("wf").dtype, DType::I8);
  EXPECT_EQ(q.type("wb").dtype, DType::I64);
  EXPECT_EQ(q.type("y").dtype, DType::F32);
  ASSERT_NE(gain_of(q), nullptr);
  EXPECT_GT(gain_of(q)->after_db, gain_of(q)->before_db);
  // What is meant to be is listed, and nothing to warn of.
  ASSERT_EQ(q.result.report.kept_in_float.size(), 1u);
  EXPECT_TRUE(q.result.report.kept_in_float[0].on_purpose);
  EXPECT_TRUE(q.sink.diagnostics().empty());
}

TEST(PreciseOutputs, ScoresThemselvesAndMovementBehindThem) {
  EXPECT_EQ(quantized(classifier("%y = identity(%s)"), Switch::Auto).type("s").dtype, DType::I16);
  const Quantized q = quantized(
      classifier("%shape = const i64[3] dense[1,2,5] %y = reshape(%s, %shape)"), Switch::Auto);
  EXPECT_EQ(q.type("s").dtype, DType::I16);
  EXPECT_EQ(q.type("y").dtype, DType::I16);
  EXPECT_EQ(q.graph().outputs()[0]->dtype(), DType::F32);
}

TEST(PreciseOutputs, MeansInFrontWhereTheyCount) {
  // The mean of many values has more to tell than 8 bits; reading all of them with 16 is much work.
  const std::string text = classifier("%y = softmax(%s) {axis=-1}");
  EXPECT_EQ(quantized(text, Switch::On).type("m").dtype, DType::I16);
  EXPECT_EQ(quantized(text, Switch::Auto).type("m").dtype, DType::I8);
}

TEST(PreciseOutputs, FewerEqualScores) {
  // Scores that differ by less than a step of 8 bits.
  const auto ties = [](Switch wanted) {
    const Quantized q = quantized(classifier("%y = softmax(%s) {axis=-1}"), wanted);
    int count = 0;
    for (const std::vector<Value>& sample : noise(*q.source, 24)) {
      const auto got = interpret(q.graph(), sample);
      EXPECT_TRUE(got.ok());
      const auto scores = got->at(0).as<float>();
      for (size_t i = 0; i < scores.size(); ++i)
        for (size_t k = 0; k < i; ++k) count += scores[i] == scores[k];
    }
    return count;
  };
  EXPECT_GT(ties(Switch::Off), 100);
  EXPECT_LT(ties(Switch::Auto), 5);
}

TEST(PreciseOutputs, IntegersAtTheInterfaceAndOnTheDeviceStay) {
  const std::string text = classifier("%y = softmax(%s) {axis=-1}");
  for (const Quantized& q : {quantized(text, Switch::Auto, IoType::Int8),
                             quantized(text, Switch::Auto, IoType::Float, coral_spec())}) {
    EXPECT_EQ(gain_of(q), nullptr);
    EXPECT_EQ(q.type("s").dtype, DType::I8);
    EXPECT_EQ(q.type("y").dtype, DType::I8);
  }
}

TEST(PreciseOutputs, LayersThatAreMuchWorkOnlyWhenAsked) {
  const std::string text =
      "graph @g(%x: f32[1,64]) -> (y = %y) {\n"
      "  %w = const f32[64,64] splat(0) %v = const f32[64,64] splat(0)\n"
      "  %h = gemm(%x, %w) {transpose_b=true}\n"
      "  %s = gemm(%h, %v) {transpose_b=true}\n  %y = sigmoid(%s)\n}";
  const Quantized q = quantized(text, Switch::Auto);
  EXPECT_EQ(q.type("s").dtype, DType::I8);
  EXPECT_EQ(q.type("y").dtype, DType::F32);
  EXPECT_EQ(quantized(text, Switch::On).type("s").dtype, DType::I16);
}

TEST(PreciseOutputs, RaisedLayersLeaveThemAlone) {
  QuantizeRequest request = plain_request();
  request.methods.precise_outputs = Switch::Auto;
  request.budget.min_sqnr = 80;
  const Quantized q =
      quantize_text(test::graph_from(classifier("%y = softmax(%s) {axis=-1}")), request);
  ASSERT_FALSE(q.result.report.raised.empty());
  for (const RaisedLayer& layer : q.result.report.raised)
    EXPECT_TRUE(layer.op == "conv" || layer.op == "reduce_mean") << layer.op;
  EXPECT_EQ(q.type("s").dtype, DType::I16);
  EXPECT_EQ(q.type("y").dtype, DType::F32);
}

TEST(PreciseOutputs, WhatIsReadInsideTheNetworkStays) {
  const Quantized q = quantized(
      classifier("%z = relu(%s) %y = softmax(%z) {axis=-1}", "y = %y, s = %s"), Switch::Auto);
  EXPECT_EQ(q.type("s").dtype, DType::I8);
}

}  // namespace
}  // namespace ec::quantize
