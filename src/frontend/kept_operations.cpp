#include "frontend/kept_operations.h"

#include "ops/attrs.h"
#include "support/strings.h"

namespace ec {

bool is_unsupported(Code code) {
  return code == Code::UnsupportedOp || code == Code::UnsupportedOpForm ||
         code == Code::UnsupportedType;
}

bool can_be_shown(Code code) {
  switch (code) {
    case Code::UnsupportedOpset:
    case Code::DuplicateName:
    case Code::UndefinedName:
    case Code::CyclicGraph:
    case Code::BadAttribute:
    case Code::BadArity:
    case Code::ShapeMismatch:
    case Code::TypeMismatch:
    case Code::DynamicShape:
    case Code::BadValue:
    case Code::DataDependent:
      return true;
    default:
      return is_unsupported(code);
  }
}

const Operation* KeptOperations::origin_of(std::span<Tensor* const> inputs) const {
  if (operations_.empty()) return nullptr;
  // Hostile files may make the way long for many operations; what lies further away is not found.
  constexpr size_t kMostVisited = 4096;
  std::vector<const Operation*> open;
  std::unordered_set<const Operation*> seen;
  const auto visit = [&](const Tensor* tensor) {
    const Operation* op = tensor != nullptr ? tensor->producer() : nullptr;
    if (op != nullptr && seen.size() < kMostVisited && seen.insert(op).second) open.push_back(op);
  };
  for (const Tensor* tensor : inputs) visit(tensor);
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i]->kind() == OpKind::Custom &&
        names_.contains(std::string(open[i]->location().name())))
      return open[i];
    for (const Tensor* tensor : open[i]->inputs()) visit(tensor);
  }
  return nullptr;
}

bool KeptOperations::takes(Code code, std::span<Tensor* const> inputs) const {
  if (takes_problem(code) || is_unsupported(code)) return true;
  return can_be_shown(code) && origin_of(inputs) != nullptr;
}

Result<Operation*> KeptOperations::add(Graph& graph, std::vector<Tensor*> inputs,
                                       std::vector<TensorType> types, Location location,
                                       Diagnostic problem) {
  KeptOperation kept;
  kept.problem = std::move(problem);
  if (kept.problem.code != Code::UnsupportedOp) {
    if (const Operation* origin = origin_of(inputs)) {
      kept.unjudged = true;
      kept.problem.message = "it depends on '" + printable(origin->location().name()) + "' (" +
                             printable(origin->location().op_type) + "), which is not supported";
      kept.problem.notes.clear();
      kept.problem.hint = "mend that operation first";
    }
  }
  return add_custom(graph, std::move(inputs), std::move(types), std::move(location),
                    std::move(kept));
}

Result<Operation*> KeptOperations::add_unjudged(Graph& graph, std::vector<Tensor*> inputs,
                                                std::vector<TensorType> types, Location location,
                                                Diagnostic why) {
  return add_custom(graph, std::move(inputs), std::move(types), std::move(location),
                    {std::move(why), true});
}

Result<Operation*> KeptOperations::add_custom(Graph& graph, std::vector<Tensor*> inputs,
                                              std::vector<TensorType> types, Location location,
                                              KeptOperation kept) {
  CustomAttrs attrs;
  attrs.code = location.op_type;
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.num_outputs = types.size();
  spec.location = std::move(location);
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  EC_TRY(Operation * op,
         graph.add_typed(OpKind::Custom, std::move(inputs), std::move(spec), std::move(types)));
  kept.problem.node = op->location().name();
  kept.problem.op_type = op->location().op_type;
  names_.insert(kept.problem.node);
  operations_.push_back(std::move(kept));
  return op;
}

void erase_unfinished(Graph& graph, size_t first_operation, size_t first_tensor,
                      const std::function<bool(const Tensor*)>& is_bound) {
  for (size_t id = graph.operation_id_bound(); id-- > first_operation;)
    if (Operation* op = graph.operation(static_cast<uint32_t>(id))) graph.erase(op);
  for (Tensor* tensor : graph.tensors())
    if (tensor->id() >= first_tensor && tensor->is_constant() && graph.is_unused(tensor) &&
        !is_bound(tensor))
      graph.erase(tensor);
}

}  // namespace ec
