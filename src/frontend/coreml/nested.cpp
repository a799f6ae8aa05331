#include "frontend/coreml/nested.h"

#include <unordered_set>

namespace ec::mil {
namespace {

void collect(const coreml::Block& block, std::unordered_set<std::string> defined,
             std::unordered_set<std::string>& seen, std::vector<std::string>& names) {
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name) && seen.insert(name).second) names.push_back(name);
  };
  for (const coreml::NamedType& input : block.inputs) defined.insert(input.name);
  for (const coreml::Operation& op : block.operations) {
    for (const auto& [parameter, bindings] : op.inputs)
      for (const coreml::Binding& binding : bindings)
        if (binding.literal == nullptr) read(binding.name);
    for (const coreml::Block& nested : op.blocks) collect(nested, defined, seen, names);
    for (const coreml::NamedType& output : op.outputs) defined.insert(output.name);
  }
  for (const std::string& output : block.outputs) read(output);
}

}  // namespace

std::vector<std::string> free_names(const std::vector<const coreml::Block*>& blocks) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (const coreml::Block* block : blocks) collect(*block, {}, seen, names);
  return names;
}

ec::Tensor* carried_tensor(const MilValue& value) {
  if (value.kind == MilValue::Kind::Tensor) return value.tensor;
  return value.kind == MilValue::Kind::List ? value.list.stack : nullptr;
}

MilValue carried_value(const MilValue& like, ec::Tensor* tensor) {
  if (like.kind != MilValue::Kind::List) return MilValue::of(tensor);
  return MilValue::of(TensorList{tensor, false, like.list.dynamic});
}

std::vector<ec::Tensor*> Captures::operands() const {
  std::vector<ec::Tensor*> all;
  for (const MilValue& value : values) all.push_back(carried_tensor(value));
  return all;
}

Captures capture(const Scope& outer, const std::vector<std::string>& names) {
  Captures captures;
  for (const std::string& name : names) {
    const MilValue* found = outer.find(name);
    if (found == nullptr) continue;  // told where it is read
    if (carried_tensor(*found) != nullptr) {
      captures.names.push_back(name);
      captures.values.push_back(*found);
    } else {
      captures.others.emplace_back(name, *found);
    }
  }
  return captures;
}

void bind_captures(const Captures& captures, Scope& inner) {
  for (size_t i = 0; i < captures.names.size(); ++i) {
    const ec::Tensor* outer = carried_tensor(captures.values[i]);
    ec::Tensor* tensor = nullptr;
    // Small constants that were computed stay constants, so that sizes are known inside.
    if (outer->is_constant()) {
      tensor = inner.site.graph.add_constant("", outer->type(), outer->raw_data());
      inner.site.graph.add_input("", outer->type());
    } else {
      tensor = inner.site.graph.add_input("", outer->type());
      inner.site.graph.set_dim_values(tensor, outer->dim_values());
    }
    inner.values.emplace(captures.names[i], carried_value(captures.values[i], tensor));
  }
  for (const auto& [name, value] : captures.others) inner.values.emplace(name, value);
}

}  // namespace ec::mil
