// Operators that cannot be converted and stay in the graph as custom operations.
#include <algorithm>

#include "frontend/tflite/importer.h"
#include "frontend/tflite/types.h"

namespace ec::tflite {

void Importer::add_kept(Scope& scope, const Operator& op, const Location& location,
                        std::vector<ec::Tensor*> inputs, Diagnostic problem, bool unjudged) {
  std::vector<ec::TensorType> types;
  for (uint32_t i = 0; i < size_of(op.outputs()); ++i) {
    const Tensor& declared = scope.tensor(op.outputs()->Get(i));
    // Texts and handles have no element type here.
    types.push_back(declared_type(declared, to_dtype(declared.type()).value_or(DType::U8)));
  }
  Result<Operation*> kept =
      unjudged ? options_.kept->add_unjudged(scope.graph, std::move(inputs), std::move(types),
                                             location, std::move(problem))
               : options_.kept->add(scope.graph, std::move(inputs), std::move(types), location,
                                    std::move(problem));
  if (!kept.ok()) {
    report(std::move(kept).error());
    return poison_outputs(scope, op);
  }
  for (uint32_t i = 0; i < size_of(op.outputs()); ++i) {
    const int32_t index = op.outputs()->Get(i);
    ec::Tensor* made = (*kept)->output(i);
    if (const std::string name = source_name(scope.tensor(index)); !name.empty())
      scope.graph.rename(made, name);
    scope.values[static_cast<size_t>(index)] = made;
  }
}

std::vector<ec::Tensor*> Importer::known_operands(Scope& scope, const Operator& op,
                                                  const Location& location) {
  std::vector<ec::Tensor*> inputs;
  for (uint32_t i = 0; i < size_of(op.inputs()); ++i) {
    const int32_t index = op.inputs()->Get(i);
    const bool readable = index >= 0 && !scope.poisoned[static_cast<size_t>(index)] &&
                          is_defined(scope, index) && !scope.handles.contains(index);
    inputs.push_back(readable ? value(scope, index, location) : nullptr);
  }
  return inputs;
}

void Importer::give_up(Scope& scope, const Operator& op, const Location& location, Error error) {
  if (options_.kept != nullptr && !stopped_) {
    std::vector<ec::Tensor*> inputs = known_operands(scope, op, location);
    if (options_.kept->takes(error.code(), inputs))
      return add_kept(scope, op, location, std::move(inputs),
                      explained(std::move(error)).diagnostic(), false);
  }
  report(std::move(error).node(std::string(location.name()), location.op_type));
  poison_outputs(scope, op);
}

void Importer::skip(Scope& scope, const Operator& op, const Location& location) {
  if (options_.kept == nullptr || !options_.kept->takes_faults() || stopped_)
    return poison_outputs(scope, op);
  add_kept(scope, op, location, known_operands(scope, op, location),
           Diagnostic(Code::UndefinedName, "an input of it cannot be read"), true);
}

void Importer::erase_conversion(Scope& scope, size_t first_operation, size_t first_tensor) {
  erase_unfinished(scope.graph, first_operation, first_tensor, [&](const ec::Tensor* tensor) {
    return std::find(scope.values.begin(), scope.values.end(), tensor) != scope.values.end();
  });
}

}  // namespace ec::tflite
