// Replaces float constants of a graph by smaller ones and keeps account of it in the report.
#pragma once

#include "quantize/strategy/context.h"

namespace ec::quantize {

inline int64_t elements_of(const Tensor* tensor) {
  return tensor != nullptr ? tensor->type().num_elements().value_or(0) : 0;
}

inline bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
}

class WeightStore {
 public:
  // Works on the graph of the context's result.
  explicit WeightStore(QuantizeContext& context) : context_(context) {}

  Graph& graph() { return *context_.result.graph; }
  QuantizeReport& report() { return context_.report(); }

  // "--keep-float PATTERN" where the user wants this operation's weights as they are, else empty.
  std::string kept_by_name(const Operation& op) const;
  // Reports an operation whose weights stay as they are.
  void keep(const Operation& op, std::string reason);

  void replace_operand(Operation* op, size_t i, Tensor* stored);
  // Reports what storing a constant cost and saved.
  void record(const Tensor& exact, Tensor& stored, std::span<const float> rounded);

  // Removes constants that nothing reads any more; those that replace them take over their names.
  void finish();

 private:
  QuantizeContext& context_;
  std::vector<Tensor*> replaced_;
  std::vector<std::pair<Tensor*, std::string>> names_;
};

}  // namespace ec::quantize
