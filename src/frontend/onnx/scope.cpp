#include "frontend/onnx/scope.h"

#include <algorithm>

namespace ec::onnx {

ec::Tensor* Scope::capture(ec::Tensor* outer) {
  if (const auto it = captured_.find(outer); it != captured_.end()) return it->second;
  ec::Tensor* inner = nullptr;
  if (outer->is_constant()) {
    inner = graph_.add_constant(outer->name(), outer->type(), outer->raw_data());
  } else {
    inner = graph_.add_input(outer->name(), outer->type());
    graph_.set_dim_values(inner, outer->dim_values());
    captures_.push_back({outer, inner});
  }
  captured_.emplace(outer, inner);
  return inner;
}

const ValueInfo* Scope::declared(std::string_view name) {
  if (declared_ == nullptr) return nullptr;
  if (declared_by_name_.empty()) {
    for (const ValueInfo& info : declared_->value_info) declared_by_name_.emplace(info.name, &info);
    for (const ValueInfo& info : declared_->outputs) declared_by_name_.emplace(info.name, &info);
  }
  const auto it = declared_by_name_.find(name);
  return it == declared_by_name_.end() ? nullptr : it->second;
}

std::vector<std::string_view> Scope::known_names() const {
  constexpr size_t kEnough = 5000;
  std::vector<std::string_view> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_)
    for (const auto& [name, binding] : scope->names_)
      if (names.size() < kEnough && !binding.is(Binding::Kind::Poisoned)) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ec::onnx
