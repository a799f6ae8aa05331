// Uneven channels get scales of their own, and the network computes what it did.
#include "quantize/rescale/split_channels.h"

#include <cmath>
#include <set>

#include "ops/kernel.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

// The channels of the first layer differ by a factor of 1000, and a depthwise layer behind an
// activation makes them alike. `between` and `behind` say how `%a` follows from `%c1`, `%y` from
// `%d`.
std::unique_ptr<Graph> network(const std::string& between, const std::string& behind,
                               const std::string& outputs = "y = %y", double spread = 3) {
  auto graph =
      test::graph_from("graph @g(%x: f32[1,8,8,3]) -> (" + outputs +
                       ") {\n"
                       "  %w1 = const f32[8,1,1,3] splat(0) %b1 = const f32[8] splat(0)\n"
                       "  %wd = const f32[8,3,3,1] splat(0) %bd = const f32[8] splat(0)\n"
                       "  %w2 = const f32[6,1,1,8] splat(0) %b2 = const f32[6] splat(0)\n"
                       "  %w3 = const f32[8,1,1,8] splat(0) %w4 = const f32[8,1,1,3] splat(0)\n"
                       "  %slope = const f32[8] splat(0)\n"
                       "  %axes = const i64[2] dense[1, 2]\n"
                       "  %c1 = conv(%x, %w1, %b1) {layout=nhwc}\n" +
                       between +
                       "  %d = conv(%a, %wd, %bd) {layout=nhwc, groups=8, "
                       "pads=[1,1,1,1]}\n" +
                       behind + "}");
  const std::set<std::string> makes = {"w1", "b1", "w5"}, evens = {"wd", "w6"};
  RandomState random(1);
  for (Tensor* tensor : graph->tensors()) {
    if (!tensor->is_constant() || tensor->dtype() != DType::F32) continue;
    const std::string& name = tensor->name();
    std::vector<float> values(tensor->values<float>().size());
    const size_t per_channel = values.size() / static_cast<size_t>((*tensor->shape())[0].size());
    // In no order: neighbours have nothing to do with each other.
    const auto size = [&](size_t i) {
      return std::pow(10.0, static_cast<double>(i / per_channel * 3 % 8) * spread / 7 - 2);
    };
    for (size_t i = 0; i < values.size(); ++i) {
      const double scale = makes.contains(name) ? size(i) : evens.contains(name) ? 1 / size(i) : 1;
      values[i] = static_cast<float>((random.uniform() - 0.5) * scale);
    }
    graph->set_constant_data(tensor, tensor->type(), Blob::copy_of(std::span<const float>(values)));
  }
  return graph;
}

constexpr const char* kHardSwish = "  %a = hard_swish(%c1)\n";
constexpr const char* kLayer = "  %y = conv(%d, %w2, %b2) {layout=nhwc}\n";

CalibrationRun seen(const Graph& graph, const Plan& plan) {
  std::vector<std::vector<Value>> samples = noise(graph, 8);
  std::vector<ModelInput> inputs;
  for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
  auto source = samples_in_memory(std::move(samples), inputs);
  const std::vector<size_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  CalibrationOptions options;
  options.method = find_observer_method("minmax");
  auto run = calibrate(graph, plan, **source, all, options);
  EXPECT_TRUE(run.ok());
  return std::move(*run);
}

size_t split(Graph& graph) {
  const Plan plan = make_plan(graph, tflite_spec(), {});
  const auto tensors = split_channels(graph, plan, seen(graph, plan));
  EXPECT_TRUE(tensors.ok());
  EXPECT_TRUE(verify(graph).empty());
  return tensors.ok() ? *tensors : 0;
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

size_t count(const Graph& graph, OpKind kind) {
  size_t found = 0;
  for (const Operation* op : graph.topological()) found += op->kind() == kind;
  return found;
}

struct Case {
  const char* name;
  std::string between, behind;
};
class SplitChannels : public testing::TestWithParam<Case> {};

TEST_P(SplitChannels, ComputesTheSame) {
  const auto graph = network(GetParam().between, GetParam().behind);
  const auto changed = graph->clone();
  ASSERT_EQ(split(*changed), 1u);
  EXPECT_EQ(count(*changed, OpKind::Concat), 1u);
  EXPECT_GT(count(*changed, OpKind::Conv), count(*graph, OpKind::Conv) + 1);
  EXPECT_LT(largest_difference(*graph, *changed), 1e-5);
}
INSTANTIATE_TEST_SUITE_P(
    All, SplitChannels,
    testing::Values(
        Case{"plain", kHardSwish, kLayer}, Case{"relu", "  %a = relu(%c1)\n", kLayer},
        Case{"written_out", "  %s = sigmoid(%c1)\n  %a = mul(%c1, %s)\n", kLayer},
        Case{"padded",
             "  %h = hard_swish(%c1)\n  %p = const i64[8] dense[0, 1, 0, 0, 0, 0, 1, 0]\n"
             "  %a = pad(%h, %p)\n",
             kLayer},
        Case{"clamped", kHardSwish, "  %r = relu(%d)\n  %y = conv(%r, %w2, %b2) {layout=nhwc}\n"},
        Case{"activated", kHardSwish,
             "  %r = hard_swish(%d)\n  %y = conv(%r, %w2, %b2) {layout=nhwc}\n"},
        Case{"by_channel", kHardSwish,
             "  %r = mul(%d, %slope)\n  %y = conv(%r, %w2, %b2) {layout=nhwc}\n"},
        Case{"gated", kHardSwish,
             "  %r = hard_swish(%d)\n  %m = reduce_mean(%r, %axes)\n"
             "  %e = conv(%m, %w3) {layout=nhwc}\n  %g = sigmoid(%e)\n  %z = mul(%r, %g)\n"
             "  %y = conv(%z, %w2, %b2) {layout=nhwc}\n"},
        Case{"added", kHardSwish,
             "  %r = conv(%x, %w4) {layout=nhwc}\n  %s = add(%d, %r)\n"
             "  %y = conv(%s, %w2, %b2) {layout=nhwc}\n"}),
    [](const auto& one) { return std::string(one.param.name); });

// Two blocks one behind the other: the second takes apart what reads the order of the first.
TEST(SplitChannelsOf, BlocksThatFollowEachOther) {
  const auto graph = network(
      kHardSwish,
      "  %w5 = const f32[8,1,1,8] splat(0) %w6 = const f32[8,3,3,1] splat(0)\n"
      "  %c2 = conv(%d, %w5) {layout=nhwc}\n  %h = hard_swish(%c2)\n"
      "  %e = conv(%h, %w6) {layout=nhwc, groups=8}\n  %y = conv(%e, %w2, %b2) {layout=nhwc}\n");
  const auto changed = graph->clone();
  EXPECT_EQ(split(*changed), 2u);
  EXPECT_LT(largest_difference(*graph, *changed), 1e-5);
}

TEST(SplitChannelsOf, NeedsUnevenChannels) {
  const auto graph = network(kHardSwish, kLayer, "y = %y", 0);
  EXPECT_EQ(split(*graph), 0u);
}

TEST(SplitChannelsOf, KeepsWhatIsReadByNumber) {
  EXPECT_EQ(split(*network(kHardSwish, kLayer, "y = %y, d = %d")), 0u);
  EXPECT_EQ(split(*network(kHardSwish, kLayer, "y = %y, a = %a")), 0u);
  EXPECT_EQ(split(*network(kHardSwish, "  %y = softmax(%d) {axis=3}\n")), 0u);
}

TEST(SplitChannelsOf, GivesEachPartAScale) {
  const auto graph = network(kHardSwish, kLayer);
  ASSERT_EQ(split(*graph), 1u);
  const Plan plan = make_plan(*graph, tflite_spec(), {});
  const CalibrationRun run = seen(*graph, plan);
  double least = INFINITY, most = 0;
  for (const Operation* op : graph->topological())
    if (op->kind() == OpKind::HardSwish) {
      const double span = span_with_zero(run.extremes[op->output()->id()].value());
      least = std::min(least, span);
      most = std::max(most, span);
    }
  EXPECT_GT(most, 50 * least);
}

}  // namespace
}  // namespace ec::quantize
