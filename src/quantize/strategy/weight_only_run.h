// What the strategies that store weights smaller have in common.
#pragma once

#include "quantize/strategy/steps.h"
#include "quantize/strategy/weight_only.h"

namespace ec::quantize {

inline int64_t elements_of(const Tensor* tensor) {
  return tensor != nullptr ? tensor->type().num_elements().value_or(0) : 0;
}

inline bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
}

// The steps that both strategies have; store() changes the graph.
class StoredWeightsRun {
 public:
  StoredWeightsRun(const Graph& graph, const QuantizeRequest& request, DiagnosticSink& sink,
                   std::string_view strategy);
  virtual ~StoredWeightsRun() = default;

  Result<QuantizeResult> run();

 protected:
  virtual Status store() = 0;

  Graph& graph() { return *result_.graph; }
  QuantizeReport& report() { return result_.report; }
  const QuantizeRequest& request() const { return request_; }

  // Why the user wants this operation's weights as they are; empty: nothing was said.
  std::string kept_by_name(const Operation& op) const;
  void keep(const Operation& op, std::string reason);

  void replace_operand(Operation* op, size_t i, Tensor* stored);

  // Remembers what storing a constant cost and saved.
  void record(const Tensor& exact, Tensor& stored, std::span<const float> rounded);

 private:
  size_t count_constants() const;

  Status measure();

  // Nothing is raised here: what does not hold is said.
  Status keep_budget() const;

  const Graph& exact_;
  const QuantizeRequest& request_;
  DiagnosticSink& sink_;
  std::vector<Tensor*> replaced_;                       // constants that nothing reads any more
  std::vector<std::pair<Tensor*, std::string>> names_;  // those of the constants they stand for
  QuantizeResult result_;
  Steps steps_{stored_weights_steps(), result_.report};
};

// The error of a target that has no `what`.
Error not_on_target(const QuantizeRequest& request, std::string_view what);

}  // namespace ec::quantize
