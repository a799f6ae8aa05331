// What is done for accuracy, and what is said about it.
#include <cmath>

#include "ops/kernel.h"
#include "quantize/quantized_text.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/weight_only.h"

namespace ec::quantize {
namespace {

// Random weights for every constant of more than one element.
std::unique_ptr<Graph> with_weights(const std::string& text) {
  auto graph = test::graph_from(text);
  RandomState random(7);
  for (Tensor* tensor : graph->tensors()) {
    if (!tensor->is_constant() || tensor->dtype() != DType::F32 ||
        tensor->values<float>().size() < 2)
      continue;
    std::vector<float> values(tensor->values<float>().size());
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
    graph->set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  }
  return graph;
}

const char* const kLayers =
    "graph @g(%x: f32[1,8,8,4]) -> (y = %y) {\n"
    "  %w1 = const f32[8,3,3,4] splat(0) %b1 = const f32[8] splat(0)\n"
    "  %w2 = const f32[8,3,3,8] splat(0) %b2 = const f32[8] splat(0)\n"
    "  %w3 = const f32[8,3,3,8] splat(0) %b3 = const f32[8] splat(0)\n"
    "  %c1 = conv(%x, %w1, %b1) {layout=nhwc, activation=relu} loc(\"first\" : \"Conv\")\n"
    "  %c2 = conv(%c1, %w2, %b2) {layout=nhwc, activation=relu} loc(\"second\" : \"Conv\")\n"
    "  %y = conv(%c2, %w3, %b3) {layout=nhwc} loc(\"third\" : \"Conv\")\n}";

const LayerAccuracy* layer_named(const Quantized& q, std::string_view name) {
  for (const LayerAccuracy& layer : q.result.report.accuracy.layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

TEST(Methods, DefaultIsNotWorseThanPlainRanges) {
  const auto graph = with_weights(kLayers);
  const Quantized plain = quantize_text(graph->clone(), plain_request());
  QuantizeRequest request;
  request.target = &tflite_spec();
  const Quantized best = quantize_text(graph->clone(), request);
  EXPECT_GE(best.result.report.accuracy.outputs[0].error.sqnr_db(),
            plain.result.report.accuracy.outputs[0].error.sqnr_db() - 1.5);
  EXPECT_EQ(best.result.report.method, "auto");
}

TEST(Methods, EachTellsWhatItIsWorth) {
  // A channel with weights far larger than the others', which its bias keeps at zero: one scale for
  // all would lose the others.
  auto graph = with_weights(kLayers);
  const auto change = [&](const char* name, auto f) {
    Tensor* tensor = graph->find_tensor(name);
    std::vector<float> values(tensor->values<float>().begin(), tensor->values<float>().end());
    f(values);
    graph->set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  };
  change("w2", [](std::vector<float>& w) {
    for (size_t i = 0; i < w.size() / 8; ++i) w[i] *= 100;
  });
  change("b2", [](std::vector<float>& b) { b[0] = -1e4f; });
  QuantizeRequest request;
  request.target = &tflite_spec();
  const auto gain_of = [](const Quantized& q, std::string_view name) -> const MethodGain* {
    for (const MethodGain& gain : q.result.report.methods)
      if (gain.method == name) return &gain;
    return nullptr;
  };
  const Quantized q = quantize_text(graph->clone(), request);
  const MethodGain* channels = gain_of(q, "per-channel-weights");
  ASSERT_NE(channels, nullptr);
  EXPECT_TRUE(channels->applied);
  EXPECT_GT(channels->after_db, channels->before_db + 3);
  const MethodGain* ranges = gain_of(q, "choose-ranges");
  ASSERT_NE(ranges, nullptr);
  EXPECT_GE(ranges->after_db, ranges->before_db);
  EXPECT_EQ(ranges->applied, ranges->after_db > ranges->before_db);

  request.weights_per_tensor = true;
  request.method = "minmax";
  const Quantized plain = quantize_text(graph->clone(), request);
  EXPECT_EQ(gain_of(plain, "per-channel-weights"), nullptr);
  EXPECT_EQ(gain_of(plain, "choose-ranges"), nullptr);
}

TEST(Methods, SharesOfAllLayersMakeOne) {
  const Quantized q = quantize_text(with_weights(kLayers), plain_request());
  double sum = 0;
  for (const char* name : {"first", "second", "third"}) {
    const LayerAccuracy* layer = layer_named(q, name);
    ASSERT_NE(layer, nullptr) << name;
    ASSERT_TRUE(layer->own_share.has_value()) << name;
    EXPECT_GT(*layer->own_share, 0) << name;
    sum += *layer->own_share;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Methods, WideActivationsAreMuchCloser) {
  const auto graph = with_weights(kLayers);
  const Quantized narrow = quantize_text(graph->clone(), plain_request());
  const Quantized wide = quantize_text(graph->clone(), plain_request(), "a16w8");
  EXPECT_EQ(wide.type("c1").dtype, DType::I16);
  EXPECT_EQ(wide.type("c1").quant->zero_points[0], 0);
  EXPECT_EQ(wide.type("w1").dtype, DType::I8);
  EXPECT_EQ(wide.type("b1").dtype, DType::I64);
  EXPECT_GT(wide.result.report.accuracy.outputs[0].error.sqnr_db(),
            narrow.result.report.accuracy.outputs[0].error.sqnr_db() + 3);
  // The integer graph computes what the simulation promised.
  for (const std::vector<Value>& sample : noise(*graph, 2)) {
    const auto expected = interpret(*graph, sample), got = interpret(wide.graph(), sample);
    ASSERT_TRUE(expected.ok() && got.ok());
    const auto e = expected->at(0).as<float>(), g = got->at(0).as<float>();
    double signal = 0, error = 0;
    for (size_t i = 0; i < e.size(); ++i) {
      signal += static_cast<double>(e[i]) * static_cast<double>(e[i]);
      error += std::pow(static_cast<double>(e[i]) - static_cast<double>(g[i]), 2);
    }
    EXPECT_GT(10 * std::log10(signal / error), 38);
  }
}

TEST(Methods, WideIsRefusedByNameWhereTheTargetLacksIt) {
  const auto graph = with_weights(kLayers);
  QuantizeRequest request = plain_request();
  request.target = &coral_spec();
  DiagnosticSink sink;
  const auto result = strategy("a16w8").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("coral"), std::string::npos);
}

TEST(Budget, RaisesUntilItHoldsAndNoFurther) {
  const auto graph = with_weights(kLayers);
  QuantizeRequest request = plain_request();
  const double plain =
      quantize_text(graph->clone(), request).result.report.accuracy.outputs[0].error.sqnr_db();
  request.budget.min_sqnr = plain + 2;
  const Quantized some = quantize_text(graph->clone(), request);
  EXPECT_FALSE(some.result.report.raised.empty());
  EXPECT_LT(some.result.report.raised.size(), 3u);
  EXPECT_GE(some.result.report.accuracy.outputs[0].error.sqnr_db(), plain + 2);
  request.budget.min_sqnr = plain - 5;
  EXPECT_TRUE(quantize_text(graph->clone(), request).result.report.raised.empty());
}

TEST(Budget, SaysWhenItCannotBeMet) {
  const auto graph = with_weights(kLayers);
  std::vector<ModelInput> inputs{{"x", graph->inputs()[0]->type()}};
  auto samples = samples_in_memory(noise(*graph, 24), inputs);
  QuantizeRequest request = plain_request();
  request.target = &coral_spec();
  request.samples = samples->get();
  request.budget.min_sqnr = 90;
  DiagnosticSink sink;
  const auto result = strategy("ptq").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::AccuracyNotMet);
}

// Counts what is read of the samples.
class CountedSamples final : public SampleSource {
 public:
  explicit CountedSamples(SampleSource& samples) : samples_(samples) {}
  size_t size() const override { return samples_.size(); }
  std::string name(size_t index) const override { return samples_.name(index); }
  Result<std::vector<Value>> read(size_t index) override { return ++reads, samples_.read(index); }

  size_t reads = 0;

 private:
  SampleSource& samples_;
};

// Once by calibration, a few to see what outputs mean, and those kept apart: no trial was opened.
TEST(Budget, WhatNoRaisedLayerMeetsIsToldBeforeAnySearch) {
  const auto graph = with_weights(kLayers);
  std::vector<ModelInput> inputs{{"x", graph->inputs()[0]->type()}};
  auto samples = samples_in_memory(noise(*graph, 24), inputs);
  CountedSamples counted(**samples);
  QuantizeRequest request = plain_request();
  request.samples = &counted;
  request.budget.min_sqnr = 119;
  DiagnosticSink sink;
  const auto result = strategy("ptq").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::AccuracyNotMet);
  EXPECT_NE(result.error().message().find("cannot hold"), std::string::npos)
      << result.error().message();
  EXPECT_LE(counted.reads, 30 + tuning::kPartSamples);
}

TEST(Budget, PredictionsNeedScores) {
  QuantizeRequest request = plain_request();
  request.budget.max_drop = 0.5;
  DiagnosticSink sink;
  for (const char* name : {"ptq", "dynamic"}) {
    const auto result = strategy(name).run(*with_weights(kLayers), request, sink);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), Code::Usage);
    EXPECT_NE(result.error().message().find("--max-drop"), std::string::npos);
  }
}

TEST(Budget, MapsOfProbabilitiesArePredictions) {
  const std::string text =
      "graph @g(%x: f32[1,4,4,3]) -> (y = %y) {\n"
      "  %w = const f32[5,1,1,3] splat(0)\n"
      "  %c = conv(%x, %w) {layout=nhwc} %y = softmax(%c) {axis=3}\n}";
  QuantizeRequest request = plain_request();
  request.budget.max_drop = 0.2;
  const Quantized q = quantize_text(with_weights(text), request);
  const auto& agreement = q.result.report.accuracy.outputs[0].top1_agreement;
  ASSERT_TRUE(agreement);
  EXPECT_GT(*agreement, 0.8);
  EXPECT_LT(*agreement, 1.0);
}

// Boxes and scores of 64 queries, made by layers of their own behind a common one.
const char* const kDetector =
    "graph @g(%x: f32[1,8,8,3]) -> (scores = %s, boxes = %b) {\n"
    "  %w1 = const f32[8,3,3,3] splat(0) %w2 = const f32[3,1,1,8] splat(0)\n"
    "  %w3 = const f32[4,1,1,8] splat(0)\n"
    "  %to2 = const i64[3] dense[1, 64, 3] %to3 = const i64[3] dense[1, 64, 4]\n"
    "  %c1 = conv(%x, %w1) {layout=nhwc, pads=[1,1,1,1], activation=relu} loc(\"stem\" : "
    "\"Conv\")\n"
    "  %c2 = conv(%c1, %w2) {layout=nhwc} loc(\"class\" : \"Conv\")\n"
    "  %c3 = conv(%c1, %w3) {layout=nhwc} loc(\"box\" : \"Conv\")\n"
    "  %p2 = sigmoid(%c2) %p3 = sigmoid(%c3)\n"
    "  %s = reshape(%p2, %to2) %b = reshape(%p3, %to3)\n}";

TEST(Budget, OfDetectorsIsJudgedByTheirAnswers) {
  const auto graph = with_weights(kDetector);
  QuantizeRequest request = plain_request();
  const Quantized plain = quantize_text(graph->clone(), request);
  const AccuracyReport& before = plain.result.report.accuracy;
  ASSERT_TRUE(before.task && before.task->task == tasks::Task::Detection);
  ASSERT_TRUE(before.task_loss && *before.task_loss > 0);
  request.budget.min_sqnr = before.worst_sqnr_db() + 3;
  const Quantized closer = quantize_text(graph->clone(), request);
  const AccuracyReport& after = closer.result.report.accuracy;
  EXPECT_FALSE(closer.result.report.raised.empty());
  EXPECT_GE(after.worst_sqnr_db(), *request.budget.min_sqnr);
  EXPECT_LE(*after.task_loss, *before.task_loss);
}

// Weights whose rounding shifts all results: next to the noise of 8-bit activations that is little,
// of 16-bit ones nearly everything.
TEST(Budget, RaisedLayersHaveTheirBiasesCorrected) {
  const auto graph = with_weights(kLayers);
  QuantizeRequest request = plain_request();
  const auto wide_sqnr = [&](Switch correct) {
    request.methods.correct_bias = correct;
    const Quantized q = quantize_text(graph->clone(), request, "a16w8");
    return q.result.report.accuracy.outputs[0].error.sqnr_db();
  };
  const double plain = wide_sqnr(Switch::Off), corrected = wide_sqnr(Switch::On);
  ASSERT_GT(corrected, plain + 0.5);
  request.budget.min_sqnr = (plain + corrected) / 2;
  request.methods.correct_bias = Switch::Auto;
  const Quantized q = quantize_text(graph->clone(), request);
  EXPECT_GE(q.result.report.accuracy.outputs[0].error.sqnr_db(), *request.budget.min_sqnr);
  const auto applied = [](const MethodGain& gain) {
    return gain.method == "correct-bias" && gain.applied;
  };
  EXPECT_TRUE(std::ranges::none_of(q.result.report.methods, applied));
}

TEST(Causes, AnOutlierChannelIsNamed) {
  auto graph = with_weights(kLayers);
  Tensor* weights = graph->find_tensor("w1");
  std::vector<float> values(weights->values<float>().begin(), weights->values<float>().end());
  for (size_t i = 0; i < 36; ++i) values[5 * 36 + i] *= 500;  // output channel 5
  graph->set_constant_data(weights, weights->type(), Blob::copy_of(std::span<const float>(values)));
  const Quantized q = quantize_text(std::move(graph), plain_request());
  bool named = false;
  for (const LayerAccuracy& layer : q.result.report.accuracy.layers)
    named |= layer.cause.find("outlier channel") == 0 &&
             layer.cause.find("channel 5") != std::string::npos;
  EXPECT_TRUE(named);
}

std::string boxes_and_scores(const std::string& behind) {
  return "graph @g(%x: f32[1,64]) -> (y = %y) {\n"
         "  %k = const f32[] splat(640) %boxes = mul(%x, %k) loc(\"boxes\" : \"Mul\")\n"
         "  %scores = sigmoid(%x) loc(\"scores\" : \"Sigmoid\")\n"
         "  %j = concat(%boxes, %scores) {axis=1} loc(\"join\" : \"Concat\")\n" +
         behind + "\n}";
}

TEST(Causes, AConcatThatMixesRangesIsNamed) {
  const Quantized q =
      quantize_text(test::graph_from(boxes_and_scores("%y = relu(%j)")), plain_request());
  const LayerAccuracy* join = layer_named(q, "join");
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->cause.find("wide range mix"), 0u) << join->cause;
}

TEST(Methods, PartsOfAMixedResultKeepTheirScales) {
  for (const IoType io : {IoType::Float, IoType::Int8}) {
    QuantizeRequest request = plain_request();
    request.io = io;
    const Quantized q =
        quantize_text(test::graph_from(boxes_and_scores("%s = const i64[2] dense[2,64] "
                                                        "%y = reshape(%j, %s)")),
                      request);
    EXPECT_EQ(q.graph().outputs()[0]->dtype(), DType::F32);
    EXPECT_EQ(q.type("scores").quant->scales[0], 1.0f / 256);
    for (const std::vector<Value>& sample : noise(*q.source, 2)) {
      if (io == IoType::Int8) break;
      const auto expected = interpret(*q.source, sample), got = interpret(q.graph(), sample);
      ASSERT_TRUE(expected.ok() && got.ok());
      for (size_t i = 64; i < 128; ++i)
        EXPECT_NEAR(expected->at(0).as<float>()[i], got->at(0).as<float>()[i], 0.02f);
    }
  }
}

// --- parameters that the model carries ---------------------------------------------------------

const char* const kRounded =
    "graph @g(%x: f32[1,4,4,2]) -> (y = %y) {\n"
    "  %sx = const f32[] splat(0.05) %zx = const u8[] splat(120)\n"
    "  %sy = const f32[] splat(0.1) %zy = const i8[] splat(-3)\n"
    "  %k = const f32[2,1,1,2] dense[0.5, -0.25, 1, 0.125]\n"
    "  %q = quantize(%x, %sx, %zx) {dtype=u8} %d = dequantize(%q, %sx, %zx)\n"
    "  %c = conv(%d, %k) {layout=nhwc, activation=relu} loc(\"layer\" : \"Conv\")\n"
    "  %p = max_pool(%c) {kernel=[2,2], layout=nhwc}\n"
    "  %r = quantize(%p, %sy, %zy) {dtype=i8} %y = dequantize(%r, %sy, %zy)\n}";

TEST(Qat, KeepsEveryParameter) {
  const auto graph = test::graph_from(kRounded);
  EXPECT_TRUE(has_rounding_pairs(*graph));
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.recorded["layer"] = {{0.25f, 0.125f}, {0, 0}, 0};
  DiagnosticSink sink;
  const auto result = strategy("qat").run(*graph, request, sink);
  ASSERT_TRUE(result.ok()) << result.error().message();
  const Graph& made = *result->graph;
  EXPECT_EQ(result->report.integer_ops, 2);
  const Operation* conv = nullptr;
  for (const Operation* op : made.topological())
    if (op->kind() == OpKind::Conv) conv = op;
  ASSERT_NE(conv, nullptr);
  // uint8 moves by 128.
  EXPECT_EQ(conv->input(0)->type().quant, (QuantParams{{0.05f}, {-8}, -1}));
  EXPECT_EQ(conv->input(1)->type().quant, (QuantParams{{0.25f, 0.125f}, {0, 0}, 0}));
  EXPECT_EQ(conv->input(1)->values<int8_t>()[0], 2);
  EXPECT_EQ(conv->input(1)->values<int8_t>()[2], 8);
  EXPECT_EQ(conv->output()->type().quant, (QuantParams{{0.1f}, {-3}, -1}));
  for (const std::vector<Value>& sample : noise(*graph, 3)) {
    const auto expected = interpret(*graph, sample), got = interpret(made, sample);
    ASSERT_TRUE(expected.ok() && got.ok()) << got.error().message();
    const auto e = expected->at(0).as<float>(), g = got->at(0).as<float>();
    for (size_t i = 0; i < e.size(); ++i) EXPECT_NEAR(e[i], g[i], 0.1001f);
  }
}

TEST(Qat, StoredConstantsOfAnyWidthBecomeReal) {
  const char* const kConstants[] = {"i8[2] dense[3,-4]", "u8[2] dense[131,124]",
                                    "i16[2] dense[3,-4]", "u16[2] dense[32771,32764]"};
  const char* const kZeroPoints[] = {"i8[] splat(0)", "u8[] splat(128)", "i16[] splat(0)",
                                     "u16[] splat(32768)"};
  for (size_t i = 0; i < std::size(kConstants); ++i) {
    const auto graph = test::graph_from(std::string("graph @g(%x: f32[2]) -> (y = %y) {\n") +
                                        "  %s = const f32[] splat(0.5) %z = const " +
                                        kZeroPoints[i] + "\n  %c = const " + kConstants[i] +
                                        "\n  %d = dequantize(%c, %s, %z) %y = add(%x, %d)\n}");
    ASSERT_TRUE(expose_rounding(*graph).ok());
    const Tensor* real = graph->outputs()[0]->producer()->input(1);
    ASSERT_TRUE(real->is_constant()) << kConstants[i];
    EXPECT_EQ(real->values<float>()[0], 1.5f);
    EXPECT_EQ(real->values<float>()[1], -2.0f);
  }
}

TEST(Qat, AModelWithoutParametersIsRefused) {
  const auto graph = test::graph_from(kLayers);
  QuantizeRequest request;
  request.target = &tflite_spec();
  DiagnosticSink sink;
  const auto result = strategy("qat").run(*graph, request, sink);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::NoTrainedRanges);
}

TEST(Qat, OperationsWithoutRangesStayFloat) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,4]) -> (y = %y) {\n"
      "  %s = const f32[] splat(0.05) %z = const i8[] splat(0)\n"
      "  %q = quantize(%x, %s, %z) {dtype=i8} %d = dequantize(%q, %s, %z)\n"
      "  %a = add(%d, %d) loc(\"open\" : \"Add\") %y = relu(%a)\n}");
  QuantizeRequest request;
  request.target = &tflite_spec();
  DiagnosticSink sink;
  const auto result = strategy("qat").run(*graph, request, sink);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->report.integer_ops, 0);
  ASSERT_FALSE(result->report.kept_in_float.empty());
  EXPECT_EQ(result->report.kept_in_float[0].name, "open");
}

}  // namespace
}  // namespace ec::quantize
