// Sessions of models with open sizes: one optimised graph per set of input shapes.
#include <algorithm>

#include "runtime/session.h"

namespace ec {

Result<std::unique_ptr<Session>> Session::create_open(OpenModel model,
                                                      const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session());
  session->describe_interface(*model.interface);
  session->set_options(options);
  session->open_ = std::move(model);
  std::vector<TensorType> types;
  for (const TensorDescription& input : session->inputs_) {
    const auto sizes = session->default_shape(input);
    if (!sizes) return session;
    types.emplace_back(input.type.dtype, Shape::of(*sizes));
  }
  // A fault of the default sizes is reported by the run that needs them.
  if (Result<Variant*> made = session->variant(types); made.ok())
    if (Result<Executor*> executor = (*made)->runner->specialise(types); executor.ok())
      session->last_ = *executor;
  return session;
}

std::optional<std::vector<int64_t>> Session::default_shape(const TensorDescription& input) const {
  if (input.type.is_static()) return input.type.shape->sizes();
  if (!open_) return std::nullopt;
  const auto found = open_->default_shapes.find(input.name);
  if (found == open_->default_shapes.end()) return std::nullopt;
  return found->second;
}

// The model for these input types, made on first use; the least recently used one is dropped when
// there are too many.
Result<Session::Variant*> Session::variant(std::span<const TensorType> types) {
  const auto found = std::find_if(variants_.begin(), variants_.end(), [&](const Variant& made) {
    return std::equal(made.types.begin(), made.types.end(), types.begin(), types.end());
  });
  if (found != variants_.end()) {
    std::rotate(variants_.begin(), found, found + 1);
    return &variants_.front();
  }
  Variant made;
  made.types.assign(types.begin(), types.end());
  EC_TRY(made.graph, open_->specialise(types));
  made.runner = std::make_unique<GraphRunner>(*made.graph, executor_, pool_);
  if (variants_.size() >= GraphRunner::kMaxSpecialisations) variants_.pop_back();
  last_ = nullptr;  // it may have been dropped
  variants_.insert(variants_.begin(), std::move(made));
  return &variants_.front();
}

Result<Executor*> Session::executor_for(std::span<const TensorType> types) {
  if (!open_) return runner_->specialise(types);
  EC_TRY(Variant * made, variant(types));
  return made->runner->specialise(types);
}

Result<const Graph*> Session::graph_for(std::span<const Value> values) {
  if (!open_) return graph_.get();
  std::vector<TensorType> types;
  for (const Value& value : values) types.emplace_back(value.dtype, Shape::of(value.shape));
  EC_TRY(const Variant* made, variant(types));
  return made->graph.get();
}

}  // namespace ec
