// Rounding for the results of a layer instead of each weight for itself.
#include "quantize/weights/adapt_rounding.h"

#include <cmath>

#include "ops/kernel.h"
#include "quantize/quantized_text.h"
#include "quantize/ranges/calibrate.h"

namespace ec::quantize {
namespace {

void fill_constants(Graph& graph) {
  RandomState random(5);
  for (Tensor* tensor : graph.tensors()) {
    if (!tensor->is_constant()) continue;
    std::vector<float> values(tensor->values<float>().size());
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
    graph.set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  }
}

// Inputs that mostly move together, as activations do: 16 channels made of 3.
std::vector<std::vector<Value>> related_samples(const std::vector<int64_t>& shape, size_t count) {
  RandomState random(9);
  std::vector<std::vector<Value>> samples;
  for (size_t s = 0; s < count; ++s) {
    std::vector<float> values(static_cast<size_t>(count_elements(shape)));
    const auto channels = static_cast<size_t>(shape.back());
    for (size_t at = 0; at < values.size(); at += channels) {
      const double parts[] = {random.uniform(), random.uniform(), random.uniform()};
      for (size_t c = 0; c < channels; ++c)
        values[at + c] = static_cast<float>(parts[c % 3] * (1 + 0.1 * static_cast<double>(c)) +
                                            0.02 * random.uniform());
    }
    samples.push_back({Value::of<float>(shape, std::span<const float>(values))});
  }
  return samples;
}

double layer_noise_of(const Graph& exact, const LayerWeights& weights,
                      const std::vector<std::vector<Value>>& samples) {
  const auto rounded = exact.clone();
  const auto originals = exact.topological();
  const auto copies = rounded->topological();
  for (size_t i = 0; i < originals.size(); ++i) {
    const auto& layer = weights[originals[i]->id()];
    if (!layer) continue;
    const std::vector<float> reals = real_weights(*layer, *originals[i]->input(1));
    rounded->set_constant_data(copies[i]->input(1), copies[i]->input(1)->type(),
                               Blob::copy_of(std::span<const float>(reals)));
  }
  double noise = 0;
  for (const std::vector<Value>& sample : samples) {
    const auto a = interpret(exact, sample), b = interpret(*rounded, sample);
    EXPECT_TRUE(a.ok() && b.ok());
    for (size_t i = 0; i < a->at(0).as<float>().size(); ++i)
      noise += std::pow(static_cast<double>(a->at(0).as<float>()[i]) -
                            static_cast<double>(b->at(0).as<float>()[i]),
                        2);
  }
  return noise;
}

class AdaptRounding : public testing::TestWithParam<const char*> {};

// Layers without a bias: an error of the mean counts as any other.
TEST_P(AdaptRounding, LowersTheErrorOfTheResultOnOtherSamples) {
  const auto graph = test::graph_from(GetParam());
  fill_constants(*graph);
  const std::vector<int64_t> shape = graph->inputs()[0]->shape()->sizes();
  const auto all = related_samples(shape, 48);
  std::vector<ModelInput> inputs = {{graph->inputs()[0]->name(), graph->inputs()[0]->type()}};
  auto source = samples_in_memory({all.begin(), all.begin() + 32}, inputs);
  std::vector<size_t> indices;
  for (size_t i = 0; i < 32; ++i) indices.push_back(i);
  const Plan plan = make_plan(*graph, tflite_spec(), {});
  CalibrationOptions options;
  options.method = find_observer_method("minmax");
  const auto run = calibrate(*graph, plan, **source, indices, options);
  ASSERT_TRUE(run.ok());
  const auto params = assign_parameters(*graph, plan, run->ranges);
  ASSERT_TRUE(params.ok());
  const LayerWeights nearest = round_weights(*graph, plan, *params);
  const auto adapted = adapt_rounding(*graph, nearest, **source, indices, {});
  ASSERT_TRUE(adapted.ok());
  const std::vector<std::vector<Value>> others(all.begin() + 32, all.end());
  EXPECT_LT(layer_noise_of(*graph, *adapted, others),
            0.3 * layer_noise_of(*graph, nearest, others));
}
INSTANTIATE_TEST_SUITE_P(
    Layers, AdaptRounding,
    testing::Values("graph @g(%x: f32[1,6,6,16]) -> (y = %y) {\n"
                    "  %w = const f32[8,3,3,16] splat(0)\n"
                    "  %y = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1], strides=[2,2]}\n}",
                    "graph @g(%x: f32[1,6,6,16]) -> (y = %y) {\n"
                    "  %w = const f32[8,1,1,8] splat(0)\n"
                    "  %y = conv(%x, %w) {layout=nhwc, groups=2}\n}",
                    "graph @g(%x: f32[64,16]) -> (y = %y) {\n"
                    "  %w = const f32[8,16] splat(0)\n"
                    "  %y = matmul(%x, %w) {transpose_b=true}\n}"));

TEST(AdaptRoundingMethod, IsMeasuredWhenAskedFor) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8,3]) -> (y = %y) {\n"
      "  %w = const f32[8,3,3,3] splat(0) %b = const f32[8] splat(0)\n"
      "  %y = conv(%x, %w, %b) {layout=nhwc}\n}");
  fill_constants(*graph);
  QuantizeRequest request = plain_request();
  request.methods.adapt_rounding = Switch::On;
  const Quantized quantized = quantize_text(std::move(graph), request);
  ASSERT_FALSE(quantized.result.report.methods.empty());
  EXPECT_EQ(quantized.result.report.methods.back().method, "adapt-rounding");
  EXPECT_TRUE(quantized.result.report.methods.back().applied);
}

}  // namespace
}  // namespace ec::quantize
