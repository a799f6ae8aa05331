// Operations that cannot be converted and stay in the graph as custom operations.
#include "frontend/coreml/importer.h"
#include "frontend/coreml/limits.h"
#include "frontend/coreml/types.h"

namespace ec::mil {

void Importer::fail_outputs(const coreml::Operation& op, Scope& scope) {
  for (const coreml::NamedType& output : op.outputs) scope.values.try_emplace(output.name);
}

std::vector<ec::Tensor*> Importer::known_operands(const coreml::Operation& op, Scope& scope) {
  std::vector<ec::Tensor*> operands;
  for (const auto& [parameter, bindings] : op.inputs)
    for (const coreml::Binding& binding : bindings) {
      const MilValue* found = binding.literal == nullptr ? scope.find(binding.name) : nullptr;
      if (found != nullptr && found->kind == MilValue::Kind::Tensor)
        operands.push_back(found->tensor);
    }
  return operands;
}

void Importer::add_kept(const coreml::Operation& op, Scope& scope, const Location& location,
                        std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged) {
  std::vector<TensorType> types;
  for (const coreml::NamedType& output : op.outputs)
    types.push_back(declared_type(output.type, "").value_or(TensorType(DType::F32)));
  ec::Graph& graph = scope.site.graph;
  Result<Operation*> kept =
      unjudged ? options_.kept->add_unjudged(graph, std::move(inputs), std::move(types), location,
                                             std::move(problem))
               : options_.kept->add(graph, std::move(inputs), std::move(types), location,
                                    std::move(problem));
  if (!kept.ok()) {
    report(std::move(kept).error());
    return fail_outputs(op, scope);
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    ec::Tensor* made = (*kept)->output(i);
    if (!op.outputs[i].name.empty())
      graph.rename(made, op.outputs[i].name.substr(0, kMaxNameLength));
    scope.values.insert_or_assign(op.outputs[i].name, MilValue::of(made));
  }
}

void Importer::give_up(const coreml::Operation& op, Scope& scope, const Location& location,
                       Error error) {
  if (options_.kept != nullptr && !stopped_) {
    std::vector<ec::Tensor*> operands = known_operands(op, scope);
    if (options_.kept->takes(error.code(), operands))
      return add_kept(op, scope, location, std::move(operands),
                      explained(std::move(error)).diagnostic(), false);
  }
  report(std::move(error).node(std::string(location.name()), location.op_type));
  fail_outputs(op, scope);
}

void Importer::skip(const coreml::Operation& op, Scope& scope, const Location& location) {
  if (options_.kept == nullptr || !options_.kept->takes_faults() || stopped_)
    return fail_outputs(op, scope);
  add_kept(op, scope, location, known_operands(op, scope),
           Diagnostic(Code::UndefinedName, "an input of it cannot be read"), true);
}

}  // namespace ec::mil
