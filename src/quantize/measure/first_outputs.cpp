#include "quantize/measure/first_outputs.h"

#include "quantize/trial/measurements.h"
#include "runtime/executor.h"
#include "support/budget.h"

namespace ec::quantize {

Status check_sample_fits(const std::vector<ModelInput>& inputs, const Budget& one_run) {
  size_t bytes = 0;
  for (const ModelInput& input : inputs)
    bytes += static_cast<size_t>(input.type.num_bytes().value_or(0));
  if (one_run.has_room(bytes)) return {};
  return one_run.memory_error(bytes);
}

Result<std::vector<Value>> first_outputs(const Graph& graph, SampleSource& samples,
                                         Budget& one_run) {
  const BudgetScope scope(one_run);
  const std::vector<Value> none;
  if (samples.measurements() != nullptr && samples.measurements()->playing()) return none;
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) {
    if (!input->type().is_static()) return none;
    types.emplace_back(input->dtype(), *input->shape());
  }
  if (samples.size() == 0) return none;
  const Result<std::vector<Value>> sample = samples.read(0);
  if (!sample) return none;
  std::vector<ConstView> views;
  for (const Value& value : *sample) views.push_back(value.view());
  auto executor = Executor::create(graph, types, {}, std::make_shared<kernels::ThreadPool>(1));
  const auto is_limit = [](const Error& error) {
    return is_stop(error.code()) || error.code() == Code::OutOfMemory;
  };
  if (!executor && is_limit(executor.error())) return std::move(executor).error();
  if (!executor) return none;
  auto ran = (*executor)->run(views);
  if (!ran && is_limit(ran.error())) return std::move(ran).error();
  return ran ? std::move(*ran) : none;
}

}  // namespace ec::quantize
