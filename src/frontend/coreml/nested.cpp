#include "frontend/coreml/nested.h"

#include <unordered_map>
#include <unordered_set>

namespace ec::mil {
namespace {

// Names that are read in front of what defines them, or that only a block around defines.
class FreeNames {
 public:
  void read_block(const coreml::Block& block) {
    const size_t outside = defined_.size();
    for (const coreml::NamedType& input : block.inputs) define(input.name);
    for (const coreml::Operation& op : block.operations) {
      for (const auto& [parameter, bindings] : op.inputs)
        for (const coreml::Binding& binding : bindings)
          if (binding.literal == nullptr) read(binding.name);
      for (const coreml::Block& nested : op.blocks) read_block(nested);
      for (const coreml::NamedType& output : op.outputs) define(output.name);
    }
    for (const std::string& output : block.outputs) read(output);
    // What a block defines ends with it.
    for (; defined_.size() > outside; defined_.pop_back()) --count_[defined_.back()];
  }
  std::vector<std::string> take() && { return std::move(names_); }

 private:
  void define(std::string_view name) {
    defined_.push_back(name);
    ++count_[name];
  }
  void read(const std::string& name) {
    if (name.empty()) return;
    const auto found = count_.find(name);
    if (found != count_.end() && found->second > 0) return;
    if (seen_.insert(name).second) names_.push_back(name);
  }

  std::vector<std::string_view> defined_;               // innermost last
  std::unordered_map<std::string_view, size_t> count_;  // how often each of them is defined
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> free_names(const std::vector<const coreml::Block*>& blocks) {
  FreeNames names;
  for (const coreml::Block* block : blocks) names.read_block(*block);
  return std::move(names).take();
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
