#include "frontend/torch/script/types.h"

#include <algorithm>

#include "frontend/torch/script/objects.h"

namespace ec::torch::script {
namespace {

bool is_plain(const TorchValue& value, const std::string& name) {
  const auto* open = value.get_if<SymScalar>();
  const auto scalar = [&](SymScalar::Kind kind) { return open != nullptr && open->kind == kind; };
  if (name == "Tensor") return value.is_tensor();
  if (name == "int") return value.is<int64_t>() || scalar(SymScalar::Kind::Int);
  if (name == "float") return value.is<double>() || scalar(SymScalar::Kind::Float);
  if (name == "bool") return value.is<bool>() || scalar(SymScalar::Kind::Bool);
  if (name == "str" || name == "Device") return value.is<std::string>();
  if (name == "NoneType" || name == "None") return value.is_none();
  if (name == "number") return value.is<int64_t>() || value.is<double>() || open != nullptr;
  if (name == "list" || name == "List") return value.is<TorchValue::List>();
  if (name == "tuple" || name == "Tuple") return value.is<TorchValue::Tuple>();
  if (name == "dict" || name == "Dict") return value.is<TorchValue::Dict>();
  if (name == "Any") return true;
  if (const auto instance = as_object<Instance>(value)) return instance->class_name == name;
  if (const auto entry = as_object<Enumerator>(value)) return entry->class_name == name;
  const auto* tuple = value.get_if<TorchValue::Tuple>();
  return tuple != nullptr && !name.empty() && (*tuple)->class_name == name;
}

// The types in brackets, one by one.
std::vector<const Expr*> parts_of(const Expr& type) {
  const Expr& inner = type.children[1];
  if (inner.kind != Expr::Kind::Tuple) return {&inner};
  std::vector<const Expr*> parts;
  for (const Expr& part : inner.children) parts.push_back(&part);
  return parts;
}

}  // namespace

bool is_instance(const TorchValue& value, const Expr& type) {
  if (type.kind == Expr::Kind::Tuple || type.kind == Expr::Kind::List)
    return std::any_of(type.children.begin(), type.children.end(),
                       [&](const Expr& one) { return is_instance(value, one); });
  if (type.kind == Expr::Kind::None) return value.is_none();
  if (type.kind != Expr::Kind::Subscript) return is_plain(value, dotted(type));
  const std::string outer = dotted(type.children[0]);
  const std::vector<const Expr*> parts = parts_of(type);
  if (outer == "Optional" || outer == "Union")
    return (outer == "Optional" && value.is_none()) ||
           std::any_of(parts.begin(), parts.end(),
                       [&](const Expr* part) { return is_instance(value, *part); });
  if (!is_plain(value, outer)) return false;
  if (const auto* list = value.get_if<TorchValue::List>())
    return (*list)->items.empty() || is_instance((*list)->items[0], *parts[0]);
  if (const auto* tuple = value.get_if<TorchValue::Tuple>()) {
    if ((*tuple)->items.size() != parts.size()) return false;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!is_instance((*tuple)->items[i], *parts[i])) return false;
    return true;
  }
  if (const auto* dict = value.get_if<TorchValue::Dict>())
    return (*dict)->items.empty() || parts.size() < 2 ||
           (is_instance((*dict)->items[0].first, *parts[0]) &&
            is_instance((*dict)->items[0].second, *parts[1]));
  return true;
}

}  // namespace ec::torch::script
