#include "quantize/strategy/common_steps.h"

#include "quantize/convert/verify.h"
#include "quantize/strategy/accuracy_budget.h"
#include "quantize/strategy/context.h"
#include "quantize/trial/measurements.h"
#include "quantize/tuning.h"
#include "runtime/executor.h"

namespace ec::quantize {

Status convert_to_integers(QuantizeContext& context) {
  EC_TRY(Conversion converted, convert(*context.graph, context.plan, context.params,
                                       context.weights, context.request.io, context.request.form));
  context.result.graph = std::move(converted.graph);
  return {};
}

Status verify_result(QuantizeContext& context) {
  return verify_quantized(*context.result.graph, context.sink);
}

Status check_budget_without_samples(const QuantizeContext& context) {
  if (context.request.samples != nullptr) return {};
  return check_budget(*context.graph, context.request.budget, context.reference->meaning());
}

Status find_meaning(QuantizeContext& context, std::span<const size_t> samples) {
  SampleSource& source = *context.request.samples;
  if (source.measurements() != nullptr && source.measurements()->playing()) return {};
  const Graph& graph = *context.graph;
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  EC_TRY(const auto executor,
         Executor::create(graph, types, {},
                          std::make_shared<kernels::ThreadPool>(context.request.threads)));
  std::vector<std::vector<Value>> outputs;
  for (const size_t index : evenly_spaced(samples, tuning::kPartSamples)) {
    EC_TRY(const std::vector<Value> sample, source.read(index));
    std::vector<ConstView> views;
    for (const Value& value : sample) views.push_back(value.view());
    EC_TRY(std::vector<Value> values, executor->run(views));
    outputs.push_back(std::move(values));
  }
  OutputMeaning meaning{parts_of_graph(graph),
                        OutputTask::recognise(graph, context.request.preprocessing, outputs)};
  refine_parts(meaning.parts, outputs);
  EC_CHECK_OK(check_budget(graph, context.request.budget, meaning));
  context.reference->set_meaning(std::move(meaning));
  return {};
}

}  // namespace ec::quantize
