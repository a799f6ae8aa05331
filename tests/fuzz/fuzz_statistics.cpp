// libFuzzer: saved statistics, every answer read back. statistics_mutation_test plays damaged ones
// to a whole quantisation, which takes too long to build here.
#include "fuzz/reader_fuzzer.h"
#include "fuzz/statistics_graph.h"
#include "quantize/trial/measurements.h"

namespace {

using namespace ec::quantize;

// Everything counts and nothing is integer: what is asked of answers does not depend on a target.
Plan plan_of(const ec::Graph& graph) {
  const size_t tensors = graph.tensor_id_bound();
  Plan plan;
  plan.ops.resize(graph.operation_id_bound());
  plan.quantized.assign(2 * tensors, true);
  plan.observed.assign(tensors, true);
  plan.stored.assign(tensors, Width::Narrow);
  return plan;
}

LayerWeights weights_of(const ec::Graph& graph) {
  LayerWeights weights(graph.operation_id_bound());
  for (auto& layer : weights) layer.emplace().values.resize(4);
  return weights;
}

// Asks for what the record may hold next, in any order, until it has no more answers.
void read_answers(Measurements& measurements, const ec::Graph& graph) {
  const Plan plan = plan_of(graph);
  const LayerWeights before = weights_of(graph);
  for (int taken = 0; taken < 256; ++taken) {
    const bool any = measurements.calibration(graph, plan, [] { return CalibrationRun(); }).ok() ||
                     measurements.output_error([] { return OutputError(); }).ok() ||
                     measurements.weights(before, [] { return LayerWeights(); }).ok() ||
                     measurements.accuracy(graph, [] { return AccuracyReport(); }).ok();
    if (!any) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = ec::fuzz::with_fingerprint(ec::fuzz::text_of(data, size));
  const ec::Graph& graph = ec::fuzz::statistics_graph();
  const ec::fuzz::MemoryBound bound(text.size());
  auto measurements = Measurements::parse(text, "fuzz.json");
  if (!measurements.ok() || !measurements->check(graph, {}).ok()) return 0;
  read_answers(*measurements, graph);
  (void)measurements->text();
  return 0;
}
