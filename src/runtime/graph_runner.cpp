#include <algorithm>

#include "runtime/executor.h"

namespace ec {

GraphRunner::GraphRunner(const Graph& graph, ExecutorOptions options,
                         std::shared_ptr<kernels::ThreadPool> pool)
    : graph_(graph), options_(std::move(options)), pool_(std::move(pool)) {}

GraphRunner::~GraphRunner() = default;

Result<Executor*> GraphRunner::specialise(std::span<const TensorType> types) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return std::equal(entry.types.begin(), entry.types.end(), types.begin(), types.end());
  });
  if (found != entries_.end()) {
    std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().executor.get();
  }
  EC_TRY(std::unique_ptr<Executor> executor, Executor::create(graph_, types, options_, pool_));
  if (entries_.size() >= kMaxSpecialisations) entries_.pop_back();
  entries_.insert(entries_.begin(), Entry{{types.begin(), types.end()}, std::move(executor)});
  return entries_.front().executor.get();
}

Result<std::vector<Value>> GraphRunner::run(std::span<const ConstView> inputs) {
  if (inputs.size() != graph_.inputs().size())
    return Error(Code::MissingInput, "graph '" + graph_.name() + "' takes " +
                                         std::to_string(graph_.inputs().size()) + " inputs, " +
                                         std::to_string(inputs.size()) + " given");
  std::vector<TensorType> types;
  for (const ConstView& view : inputs) types.emplace_back(view.dtype, Shape::of(view.shape));
  EC_TRY(Executor * executor, specialise(types));
  return executor->run(inputs);
}

}  // namespace ec
