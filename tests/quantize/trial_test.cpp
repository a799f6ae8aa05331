// What trials tell is what the integer network does.
#include "quantize/trial/trial.h"

#include "quantize/quantized_text.h"
#include "quantize/strategy/context.h"

namespace ec::quantize {
namespace {

struct Calibrated {
  std::unique_ptr<Graph> graph;
  Plan plan;
  CalibrationRun run;
  std::unique_ptr<SampleSource> samples;
  std::vector<size_t> all;
  FormParams params;
  LayerWeights weights;
};

Calibrated calibrated(std::unique_ptr<Graph> graph) {
  Calibrated c;
  c.plan = make_plan(*graph, tflite_spec(), {});
  const std::vector<ModelInput> inputs{{"x", graph->inputs()[0]->type()}};
  c.samples = std::move(*samples_in_memory(noise(*graph, 16), inputs));
  for (size_t i = 0; i < 16; ++i) c.all.push_back(i);
  CalibrationOptions options;
  options.method = find_observer_method("minmax");
  c.run = std::move(*calibrate(*graph, c.plan, *c.samples, c.all, options));
  c.params = std::move(*assign_parameters(*graph, c.plan, c.run.ranges));
  c.weights = round_weights(*graph, c.plan, c.params);
  c.graph = std::move(graph);
  return c;
}

TEST(Trial, RoundsConstantsThatAreNoWeights) {
  const Calibrated c = calibrated(test::graph_from(
      "graph @g(%x: f32[1,4,4,4]) -> (y = %y) {\n"
      "  %w1 = const f32[4,1,1,4] splat(0) %w2 = const f32[4,1,1,4] splat(0)\n"
      "  %f = const f32[4] dense[0.003, 1, -0.5, 0.005]\n"
      "  %c = conv(%x, %w1) {layout=nhwc} %m = mul(%c, %f) %y = conv(%m, %w2) {layout=nhwc}\n}"));
  Rounding rounding = round_all(*c.graph, c.plan, c.params, c.weights);
  const auto rounded = RoundedGraph::create(*c.graph, c.plan, rounding);
  const auto factors = rounded->graph->find_tensor("m")->producer()->input(1)->values<float>();
  // One step is 1.5 / 255.
  EXPECT_EQ(factors[0],
            c.params[form_id(c.graph->find_tensor("f")->id(), Width::Narrow)]->scales[0]);
  EXPECT_NEAR(factors[1], 1, 0.003);
  EXPECT_NEAR(factors[2], -0.5, 0.003);
  EXPECT_EQ(factors[3], factors[0]);
  EXPECT_TRUE(rounded->serves(rounding));
  rounding.forms[form_id(c.graph->find_tensor("f")->id(), Width::Narrow)]->scales[0] = 0.5f;
  EXPECT_FALSE(rounded->serves(rounding));
}

// Noise and what choices are judged by, of a layer whose results are `factor` times as large.
OutputError error_of(const std::string& end, float factor, int rows) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[" + std::to_string(rows) +
      ",16]) -> (y = %y) {\n"
      "  %w = const f32[8,16] splat(0) %v = const f32[8,8] splat(0)\n"
      "  %f = gemm(%x, %w) {transpose_b=true} %g = gemm(%f, %v) {transpose_b=true}\n" +
      end + "\n}");
  std::vector<float> square(64, 0.0f);
  for (size_t i = 0; i < 8; ++i) square[i * 9] = factor;
  Tensor* v = graph->find_tensor("v");
  graph->set_constant_data(v, v->type(), Blob::copy_of(std::span<const float>(square)));
  const Calibrated c = calibrated(std::move(graph));
  const auto trial = Trial::create(*c.graph, c.plan, 1, std::make_shared<ReferenceOutputs>());
  for (const size_t index : c.all) EXPECT_TRUE((*trial)->add_sample(*c.samples, index).ok());
  return *(*trial)->measure(round_all(*c.graph, c.plan, c.params, c.weights));
}

TEST(Trial, ProbabilitiesCountBesideTheirScores) {
  const OutputError scores = error_of("%y = relu(%g)", 1, 20);
  const OutputError made = error_of("%y = softmax(%g)", 1, 20);
  EXPECT_NE(made.judged, scores.judged);
  // The same noise in front of the softmax, whose probabilities are all but equal with or without.
  const OutputError even = error_of("%y = softmax(%g)", 1e-3f, 20);
  EXPECT_NEAR(even.noise, made.noise, 0.05 * made.noise);
  EXPECT_GT(even.judged, 0);
  EXPECT_LT(even.judged, 0.01 * made.judged);
}

// The few probabilities of a classifier do not count.
TEST(Trial, OnePredictionIsJudgedByItsScores) {
  const OutputError made = error_of("%y = softmax(%g)", 1, 1);
  const OutputError even = error_of("%y = softmax(%g)", 1e-3f, 1);
  EXPECT_NEAR(even.judged, made.judged, 0.05 * made.judged);
}

// --- the float reference -------------------------------------------------------------------------

Result<std::vector<Value>> one_output(size_t elements) {
  const std::vector<float> values(elements, 1.0f);
  std::vector<Value> outputs;
  outputs.push_back(
      Value::of<float>({static_cast<int64_t>(elements)}, std::span<const float>(values)));
  return outputs;
}

TEST(ReferenceOutputs, RunsOncePerSample) {
  ReferenceOutputs reference;
  for (int round = 0; round < 3; ++round)
    for (size_t sample = 0; sample < 5; ++sample)
      EXPECT_EQ((*reference.of(sample, [&] { return one_output(sample + 1); }))[0].data.size(),
                4 * (sample + 1));
  EXPECT_EQ(reference.uses(), 15u);
  EXPECT_EQ(reference.runs(), 5u);
}

TEST(ReferenceOutputs, HoldsNoMoreThanItsBytes) {
  ReferenceOutputs reference({}, 100);  // two samples of 40 bytes
  for (int round = 0; round < 2; ++round)
    for (size_t sample = 0; sample < 4; ++sample)
      EXPECT_TRUE(reference.of(sample, [] { return one_output(10); }).ok());
  EXPECT_EQ(reference.bytes(), 80u);
  EXPECT_EQ(reference.runs(), 4u + 2u);  // the two that are not held run again
}

TEST(ReferenceOutputs, AFailedRunIsNotKept) {
  ReferenceOutputs reference;
  const auto fail = []() -> Result<std::vector<Value>> { return Error(Code::Internal, "no"); };
  EXPECT_FALSE(reference.of(0, fail).ok());
  EXPECT_TRUE(reference.of(0, [] { return one_output(1); }).ok());
  EXPECT_EQ(reference.runs(), 2u);
}

const char* const kClassifier =
    "graph @g(%x: f32[1,8,8,4]) -> (y = %y) {\n"
    "  %w = const f32[8,3,3,4] splat(0) %b = const f32[8] splat(0.1)\n"
    "  %w2 = const f32[8,3,3,8] splat(0) %c = const f32[8] splat(0.1)\n"
    "  %wf = const f32[10,8] splat(0) %axes = const i64[2] dense[1,2]\n"
    "  %d = conv(%x, %w, %b) {layout=nhwc, pads=[1,1,1,1], activation=relu}\n"
    "  %e = conv(%d, %w2, %c) {layout=nhwc, pads=[1,1,1,1], activation=relu}\n"
    "  %m = reduce_mean(%e, %axes) {keep_dims=false}\n"
    "  %s = gemm(%m, %wf) {transpose_b=true} %y = softmax(%s) {axis=-1}\n}";

// Steps of `ptq` up to the report, with every method that needs trial runs.
struct Steps {
  explicit Steps(QuantizeRequest asked) : request(std::move(asked)) {
    samples = std::move(*samples_in_memory(noise(*graph, 40), {{"x", graph->inputs()[0]->type()}}));
    request.samples = samples.get();
    context.emplace(strategy("ptq"), *graph, request, sink);
    first = context->reference;
    EXPECT_TRUE(context->strategy.begin(*context).ok());
    for (const Step& step : context->strategy.steps)
      EXPECT_TRUE(step.run(*context).ok()) << step.name;
  }

  std::unique_ptr<Graph> graph = test::graph_from(kClassifier);
  QuantizeRequest request;
  std::unique_ptr<SampleSource> samples;
  DiagnosticSink sink;
  std::optional<QuantizeContext> context;
  std::shared_ptr<ReferenceOutputs> first;  // of the graph as given
};

TEST(Ptq, TheFloatGraphRunsOncePerSample) {
  QuantizeRequest request = plain_request();
  request.method = "auto";
  request.methods.precise_outputs = Switch::On;  // trials with and without
  Steps steps(request);
  const ReferenceOutputs& reference = *steps.context->reference;
  EXPECT_EQ(steps.context->reference, steps.first);
  const size_t calibrating = steps.context->split.calibration.size();
  EXPECT_EQ(reference.runs(), calibrating);
  EXPECT_GT(reference.uses(), calibrating);
  // Another trial, as after layers were raised.
  EXPECT_TRUE(ptq::open_trial(*steps.context).ok());
  EXPECT_GE(reference.uses(), 2 * calibrating);
  EXPECT_EQ(reference.runs(), calibrating);
}

TEST(Ptq, RescaledGraphsHaveAReferenceOfTheirOwn) {
  QuantizeRequest request = plain_request();
  request.methods.equalize = Switch::On;
  const Steps steps(request);
  ASSERT_NE(steps.context->changed_graph, nullptr);
  EXPECT_NE(steps.context->reference, steps.first);
  EXPECT_EQ(steps.first->runs(), tuning::kRescaleJudgeSamples);
  EXPECT_EQ(steps.context->reference->runs(), steps.context->split.calibration.size());
}

}  // namespace
}  // namespace ec::quantize
