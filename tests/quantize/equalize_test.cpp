// Scale moves between layers and the network computes what it did.
#include "quantize/rescale/equalize.h"

#include <cmath>

#include "ops/kernel.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

// Channels of the first layer differ by a factor of 1000; a depthwise and a dense layer behind it.
std::unique_ptr<Graph> uneven_network(const std::string& activation) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8,3]) -> (y = %y) {\n"
      "  %w1 = const f32[8,3,3,3] splat(0) %b1 = const f32[8] splat(0)\n"
      "  %wd = const f32[8,3,3,1] splat(0) %bd = const f32[8] splat(0)\n"
      "  %w2 = const f32[6,1,1,8] splat(0) %b2 = const f32[6] splat(0)\n"
      "  %c1 = conv(%x, %w1, %b1) {layout=nhwc, pads=[1,1,1,1], activation=" +
      activation +
      "}\n  %c2 = conv(%c1, %wd, %bd) {layout=nhwc, groups=8, pads=[1,1,1,1], activation=" +
      activation + "}\n  %y = conv(%c2, %w2, %b2) {layout=nhwc}\n}");
  RandomState random(1);
  for (Tensor* tensor : graph->tensors()) {
    if (!tensor->is_constant()) continue;
    std::vector<float> values(tensor->values<float>().size());
    const size_t per_channel = values.size() / static_cast<size_t>((*tensor->shape())[0].size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto uneven = [](size_t c) {
        return std::pow(10.0, static_cast<double>(c) * 3 / 7 - 2);
      };
      // The last layer makes up for it, so that every channel counts.
      const double scale = tensor->name() == "w2"   ? std::pow(uneven(i % 8), -2.0)
                           : tensor->name() == "b2" ? 1.0
                                                    : uneven(i / per_channel % 8);
      values[i] = static_cast<float>((random.uniform() - 0.5) * scale);
    }
    graph->set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  }
  return graph;
}

Plan one_scale_plan(const Graph& graph) {
  PlanOptions options;
  options.weights_per_tensor = true;
  return make_plan(graph, tflite_spec(), options);
}

CalibrationRun seen(const Graph& graph, std::vector<std::vector<Value>> samples) {
  std::vector<ModelInput> inputs;
  for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
  const size_t count = samples.size();
  auto source = samples_in_memory(std::move(samples), inputs);
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = i;
  CalibrationOptions options;
  options.method = find_observer_method("minmax");
  auto run = calibrate(graph, one_scale_plan(graph), **source, all, options);
  EXPECT_TRUE(run.ok());
  return std::move(*run);
}

double largest_difference(const Graph& a, const Graph& b) {
  double largest = 0, scale = 0;
  for (const std::vector<Value>& sample : noise(a, 4)) {
    const auto expected = interpret(a, sample), got = interpret(b, sample);
    EXPECT_TRUE(expected.ok() && got.ok());
    const auto e = expected->at(0).as<float>(), g = got->at(0).as<float>();
    for (size_t i = 0; i < e.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(e[i]) - static_cast<double>(g[i])));
      scale = std::max(scale, std::abs(static_cast<double>(e[i])));
    }
  }
  return largest / scale;
}

size_t equalized(Graph& graph, const EqualizeOptions& options) {
  const CalibrationRun run = seen(graph, noise(graph, 8));
  const auto tensors = equalize(graph, one_scale_plan(graph), run, options);
  EXPECT_TRUE(tensors.ok());
  EXPECT_TRUE(verify(graph).empty());
  return tensors.ok() ? *tensors : 0;
}

class EqualizeTest : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(EqualizeTest, ComputesTheSame) {
  const auto [activation, bounds] = GetParam();
  const auto graph = uneven_network(activation);
  const auto changed = graph->clone();
  EXPECT_EQ(equalized(*changed, {Equalization::Layers, bounds}), 2u);
  EXPECT_LT(largest_difference(*graph, *changed), 1e-5);
}
INSTANTIATE_TEST_SUITE_P(All, EqualizeTest,
                         testing::Combine(testing::Values("none", "relu", "relu6"),
                                          testing::Values(false, true)));

// Channels of %x differ by a factor of 1000 once the gain or the gate has multiplied them.
std::unique_ptr<Graph> uneven_gain(const std::string& body) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,4,4,8], %g: f32[1,1,1,8]) -> (y = %y) {\n"
      "  %w = const f32[6,1,1,8] splat(0) %b = const f32[6] splat(0)\n"
      "  %gain = const f32[8] splat(0) %offset = const f32[8] splat(0)\n" +
      body + "  %y = conv(%z, %w, %b) {layout=nhwc}\n}");
  RandomState random(3);
  for (Tensor* tensor : graph->tensors()) {
    if (!tensor->is_constant()) continue;
    std::vector<float> values(tensor->values<float>().size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double uneven = std::pow(10.0, static_cast<double>(i % 8) * 3 / 7);
      values[i] = static_cast<float>((random.uniform() + 0.1) *
                                     (tensor->name() == "w" ? 1 / uneven : uneven));
    }
    graph->set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  }
  return graph;
}

TEST(Balance, MovesScaleOutOfGainsAndGates) {
  const char* gain = "  %p = mul(%x, %gain)\n  %z = add(%p, %offset)\n";
  const char* gate =
      "  %h = mul(%g, %gain)\n  %s = sigmoid(%h)\n  %t = mul(%s, %gain)\n"
      "  %z = mul(%x, %t)\n";
  for (const char* body : {gain, gate}) {
    const auto graph = uneven_gain(body);
    const auto changed = graph->clone();
    EXPECT_EQ(equalized(*changed, {Equalization::Gains, false}), 1u) << body;
    EXPECT_LT(largest_difference(*graph, *changed), 1e-5) << body;
    EXPECT_TRUE(scalable_edges(*changed, Equalization::Layers).empty());
  }
}

// Numbers that multiply what is as small as a gate are no gates.
TEST(Balance, LeavesOtherProductsOfSmallTensorsAlone) {
  for (const char* other : {"const f32[] splat(2)", "const f32[8] splat(2)"}) {
    const auto graph = uneven_gain("  %k = " + std::string(other) + "\n  %z = mul(%g, %k)\n");
    EXPECT_TRUE(scalable_edges(*graph, Equalization::Gains).empty()) << other;
  }
}

TEST(Equalize, SavesWeightsWithOneScale) {
  const auto graph = uneven_network("relu");
  QuantizeRequest request = plain_request();
  request.weights_per_tensor = true;
  const Quantized before = quantize_text(graph->clone(), request);
  request.methods.equalize = Switch::Auto;
  const Quantized after = quantize_text(graph->clone(), request);
  const auto sqnr = [](const Quantized& q) {
    return q.result.report.accuracy.outputs[0].error.sqnr_db();
  };
  EXPECT_GT(sqnr(after), sqnr(before) + 6);
  ASSERT_FALSE(after.result.report.methods.empty());
  EXPECT_TRUE(after.result.report.methods[0].applied);
  EXPECT_GT(after.result.report.methods[0].after_db, after.result.report.methods[0].before_db);
}

}  // namespace
}  // namespace ec::quantize
