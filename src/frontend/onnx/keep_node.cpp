// Nodes that cannot be converted and stay in the graph as custom operations.
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/types.h"

namespace ec::onnx {

std::vector<ec::Tensor*> Importer::known_operands(const Node& node, Scope& scope) {
  std::vector<ec::Tensor*> operands;
  for (const std::string_view name : node.inputs) {
    const std::optional<Binding> input = name.empty() ? std::nullopt : lookup(scope, name);
    operands.push_back(input && input->is(Binding::Kind::Tensor) ? input->tensor : nullptr);
  }
  return operands;
}

// What the file declares of the result; a guess where it declares nothing.
TensorType Importer::kept_type(Scope& scope, std::string_view output,
                               const std::vector<ec::Tensor*>& inputs) {
  std::optional<TensorType> known;
  if (const ValueInfo* declared = scope.declared(output))
    if (Result<TensorType> type = declared_type(*declared, invented_dims_); type.ok())
      known = std::move(*type);
  const auto like = std::find_if(inputs.begin(), inputs.end(), [](const ec::Tensor* tensor) {
    return tensor != nullptr && is_float(tensor->dtype());
  });
  TensorType type =
      known ? *known : TensorType(like == inputs.end() ? DType::F32 : (*like)->dtype());
  // `inspect` shows types and guesses no sizes; `check` judges what follows, most often by the
  // kind of operation alone.
  if (!kept_->takes_faults() && !type.shape && like != inputs.end()) type.shape = (*like)->shape();
  return type;
}

void Importer::add_kept(const Node& node, Scope& scope, const Location& location,
                        std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged) {
  size_t count = node.outputs.size();
  while (count > 0 && node.outputs[count - 1].empty()) --count;
  std::vector<TensorType> types;
  for (size_t i = 0; i < count; ++i) types.push_back(kept_type(scope, node.outputs[i], inputs));
  Result<Operation*> op = unjudged
                              ? kept_->add_unjudged(scope.graph(), std::move(inputs),
                                                    std::move(types), location, std::move(problem))
                              : kept_->add(scope.graph(), std::move(inputs), std::move(types),
                                           location, std::move(problem));
  if (!op.ok()) {
    report_lasting(std::move(op).error());
    return poison_outputs(node, scope);
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty()) continue;
    scope.graph().rename((*op)->output(i), std::string(name));
    bind_output(scope, name, Binding::of((*op)->output(i)), location);
  }
}

void Importer::give_up(const Node& node, Scope& scope, const Location& location, Error error) {
  if (kept_ != nullptr && !stopped_) {
    std::vector<ec::Tensor*> operands = known_operands(node, scope);
    if (kept_->takes(error.code(), operands)) {
      return add_kept(node, scope, location, std::move(operands),
                      explained(std::move(error)).diagnostic(), false);
    }
  }
  report(std::move(error).node(std::string(location.name()), location.op_type));
  poison_outputs(node, scope);
}

void Importer::skip(const Node& node, Scope& scope, const Location& location) {
  if (kept_ == nullptr || !kept_->takes_faults() || stopped_) return poison_outputs(node, scope);
  add_kept(node, scope, location, known_operands(node, scope),
           Diagnostic(Code::UndefinedName, "an input of it cannot be read"), true);
}

void Importer::erase_conversion(Scope& scope, size_t first_operation, size_t first_tensor) {
  erase_unfinished(scope.graph(), first_operation, first_tensor, [&](const ec::Tensor* tensor) {
    for (Scope* at = &scope; at != nullptr; at = at->parent())
      if (const Binding* bound = at->find(tensor->name());
          bound != nullptr && bound->tensor == tensor)
        return true;
    return false;
  });
}

}  // namespace ec::onnx
