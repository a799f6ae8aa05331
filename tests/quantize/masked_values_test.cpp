#include "quantize/plan/masked_values.h"

#include <cmath>
#include <limits>

#include "quantize/quantized_text.h"
#include "quantize/trial/measurements.h"

namespace ec::quantize {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kMinusInfinity = -kInfinity;

// Attention of eight words, none to those behind it.
std::unique_ptr<Graph> causal(float masked) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8]) -> (y = %y) {\n"
      "  %m = const f32[8,8] splat(0)\n"
      "  %s = add(%x, %m) loc(\"mask\" : \"Add\")\n"
      "  %p = softmax(%s) {axis=-1}\n"
      "  %y = matmul(%p, %x)\n}");
  std::vector<float> values(64, 0.0f);
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = i + 1; j < 8; ++j) values[i * 8 + j] = masked;
  Tensor* mask = graph->find_tensor("m");
  graph->set_constant_data(mask, mask->type(), Blob::copy_of(std::span<const float>(values)));
  return graph;
}

double sqnr(const Quantized& q) { return q.result.report.accuracy.outputs[0].error.sqnr_db(); }

TEST(MaskedValues, ConstantMasksSaturate) {
  for (const float masked : {-kInfinity, std::numeric_limits<float>::lowest(), -1e9f, -100.0f}) {
    SCOPED_TRACE(masked);
    const Quantized q = quantize_text(causal(masked), plain_request());
    EXPECT_EQ(q.result.report.float_ops, 0);
    // Scores from -2 to 2, and what lies below the largest of eight by less than counts.
    const double width = 255.0 * static_cast<double>(q.type("s").quant->scales[0]);
    EXPECT_GT(width, 4 + std::log(256.0));
    EXPECT_LT(width, 4 + std::log(256.0 * 16 * 8));
    EXPECT_GT(sqnr(q), 25);
    for (const LayerAccuracy& layer : q.result.report.accuracy.layers)
      EXPECT_GT(layer.error.sqnr_db(), 25) << layer.name;
  }
}

TEST(MaskedValues, AMaskThatFloatsReadToo) {
  // The second sum is a result: it stays float, as the infinite numbers in it.
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8]) -> (y = %y, z = %z) {\n"
      "  %m = const f32[8,8] splat(0)\n"
      "  %s = add(%x, %m)\n"
      "  %p = softmax(%s) {axis=-1}\n"
      "  %y = matmul(%p, %x)\n"
      "  %t = add(%y, %m) loc(\"other\" : \"Add\")\n"
      "  %z = relu(%t)\n}");
  const auto masked = causal(-kInfinity);
  Tensor* mask = graph->find_tensor("m");
  graph->set_constant_data(mask, mask->type(), masked->find_tensor("m")->data());
  const Quantized q = quantize_text(std::move(graph), plain_request());
  ASSERT_FALSE(q.result.report.kept_in_float.empty());
  EXPECT_EQ(q.result.report.kept_in_float[0].name, "other");
  ASSERT_TRUE(q.type("s").quant);
  EXPECT_LT(q.type("s").quant->scales[0], 0.1f);
  EXPECT_GT(sqnr(q), 25);
}

TEST(MaskedValues, ScoresThatAreFilledUp) {
  auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8]) -> (y = %y) {\n"
      "  %pads = const i64[6] dense[0, 0, 0, 0, 0, 2]\n"
      "  %v = const f32[] splat(0)\n  %w = const f32[10,4] splat(0.3)\n"
      "  %a = add(%x, %x)\n"
      "  %s = pad(%a, %pads, %v)\n"
      "  %p = softmax(%s) {axis=-1}\n"
      "  %y = matmul(%p, %w)\n}");
  Tensor* filler = graph->find_tensor("v");
  graph->set_constant_data(filler, filler->type(),
                           Blob::copy_of(std::span<const float>(&kMinusInfinity, 1)));
  const Quantized q = quantize_text(std::move(graph), plain_request());
  EXPECT_EQ(q.result.report.float_ops, 2);
  EXPECT_GT(sqnr(q), 25);
}

TEST(MaskedValues, WideActivationsHaveMasksToo) {
  const Quantized q = quantize_text(causal(-kInfinity), plain_request(), "a16w8");
  EXPECT_EQ(q.result.report.float_ops, 0);
  EXPECT_GT(sqnr(q), 60);
}

TEST(MaskedValues, ComputedMasksStayInFloat) {
  const Quantized q =
      quantize_text(test::graph_from("graph @g(%x: f32[1,8,8], %k: f32[1,1,8]) -> (y = %y) {\n"
                                     "  %c = const f32[] splat(-1000000000)\n"
                                     "  %r = relu(%k)\n"
                                     "  %m = mul(%r, %c) loc(\"times\" : \"Mul\")\n"
                                     "  %s = add(%x, %m) loc(\"mask\" : \"Add\")\n"
                                     "  %p = softmax(%s) {axis=-1} loc(\"weights\" : \"Softmax\")\n"
                                     "  %y = matmul(%p, %x)\n}"),
                    plain_request());
  std::vector<std::string> kept;
  for (const KeptInFloat& op : q.result.report.kept_in_float) {
    kept.push_back(op.name);
    EXPECT_EQ(op.reason, "values without bound, as masks have them");
  }
  EXPECT_EQ(kept, (std::vector<std::string>{"times", "mask", "weights"}));
  EXPECT_GT(sqnr(q), 25);
}

TEST(MaskedValues, FillersOfMaxPoolsTakeNoRoom) {
  const Quantized q = quantize_text(
      test::graph_from("graph @g(%x: f32[1,6,6,4]) -> (y = %y) {\n"
                       "  %n = add(%x, %x)\n"
                       "  %pads = const i64[8] dense[0, 1, 1, 0, 0, 1, 1, 0]\n"
                       "  %v = const f32[] splat(-3.4e38)\n"
                       "  %p = pad(%n, %pads, %v)\n"
                       "  %y = max_pool(%p) {kernel=[3,3], strides=[2,2], layout=nhwc}\n}"),
      plain_request());
  EXPECT_EQ(q.type("p").quant, q.type("y").quant);
  EXPECT_NEAR(static_cast<double>(q.type("p").quant->scales[0]), 8.0 / 255, 1e-3);
  EXPECT_GT(sqnr(q), 40);
}

TEST(MaskedValues, AreRecordedWithTheStatistics) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,8,8], %k: f32[1,1,8]) -> (y = %y) {\n"
      "  %c = const f32[] splat(-1000000000)\n  %r = relu(%k)\n  %m = mul(%r, %c)\n"
      "  %s = add(%x, %m)\n  %p = softmax(%s) {axis=-1}\n  %y = matmul(%p, %x)\n}");
  std::vector<ModelInput> inputs;
  for (const Tensor* input : graph->inputs()) inputs.push_back({input->name(), input->type()});
  const auto samples = samples_in_memory(noise(*graph, 24), inputs);
  ASSERT_TRUE(samples.ok());
  Measurements recorded;
  const auto source = recorded_samples(**samples, recorded);
  const auto floats = [&](SampleSource& from) {
    QuantizeRequest request = plain_request();
    request.samples = &from;
    DiagnosticSink sink;
    Result<QuantizeResult> result = strategy("ptq").run(*graph, request, sink);
    EXPECT_TRUE(result.ok());
    return result.ok() ? result->report.float_ops : -1;
  };
  EXPECT_EQ(floats(*source), 3);
  Result<Measurements> played = Measurements::parse(recorded.text(), "statistics.json");
  ASSERT_TRUE(played.ok());
  EXPECT_EQ(floats(*played_back_samples(*played)), 3);
}

TEST(MaskedValues, NotANumberIsNone) {
  EXPECT_TRUE(is_masked(std::vector{0.0f, -kInfinity}));
  EXPECT_TRUE(is_masked(std::vector{0.0f, -1e9f}));
  EXPECT_FALSE(is_masked(std::vector{0.0f, -1e5f}));
  EXPECT_FALSE(is_masked(std::vector{NAN, -kInfinity}));
  EXPECT_FALSE(is_masked(std::vector{kInfinity, -kInfinity}));
}

TEST(MaskedValues, LiftsWhatIsBelowTheLargestOfItsRow) {
  std::vector<float> scores{0, 1, -kInfinity, 5, 4.5f, -50, -kInfinity, -kInfinity, -kInfinity};
  lift_to_what_counts(scores, Reading::Scores, 3, Width::Narrow);
  const auto below = static_cast<float>(std::log(256.0 * 16 * 3));
  EXPECT_EQ(scores, (std::vector<float>{0, 1, 1 - below, 5, 4.5f, 5 - below, 0, 0, 0}));
}

TEST(MaskedValues, OnlyInFrontOfASoftmax) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[2,8]) -> (y = %y, z = %z, s = %p) {\n"
      "  %shape = const i64[2] dense[4, 4]\n"
      "  %a = neg(%x)\n  %b = neg(%x)\n  %c = neg(%x)\n  %d = neg(%x)\n"
      "  %pa = softmax(%a) {axis=-1}\n  %y = neg(%pa)\n"
      "  %pb = softmax(%b) {axis=0}\n  %q = mul(%pb, %c)\n"
      "  %r = reshape(%c, %shape)\n  %pc = softmax(%r) {axis=-1}\n"
      "  %pq = reshape(%pc, %shape)\n  %z = add(%pq, %pq)\n"
      "  %p = softmax(%d) {axis=-1}\n}");
  const std::vector<Reading> readings = readings_of(*graph);
  const auto reading = [&](const char* name) { return readings[graph->find_tensor(name)->id()]; };
  EXPECT_EQ(reading("a"), Reading::Scores);
  EXPECT_EQ(reading("b"), Reading::Whole);  // over another dimension
  EXPECT_EQ(reading("c"), Reading::Whole);  // a product reads it, and rows change
  EXPECT_EQ(reading("r"), Reading::Scores);
  EXPECT_EQ(reading("d"), Reading::Whole);  // makes an output
}

}  // namespace
}  // namespace ec::quantize
