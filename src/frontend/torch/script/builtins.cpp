#include "frontend/torch/script/builtins.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/torch/script/interpreter.h"

namespace ec::torch::script {

bool BuiltinCall::all_numbers() const {
  return std::all_of(args.begin(), args.end(),
                     [](const TorchValue& value) { return value.is_number(); });
}

Builtin find_builtin(std::string_view name) {
  static const std::unordered_map<std::string_view, Builtin> kTable = [] {
    std::unordered_map<std::string_view, Builtin> table;
    for (const auto family : {number_builtins(), container_builtins(), joining_builtins(),
                              text_builtins(), environment_builtins()})
      for (const NamedBuiltin& entry : family) table.emplace(entry.name, entry.function);
    return table;
  }();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second;
}

double real_of(const TorchValue& value) {
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* integer = value.get_if<int64_t>()) return static_cast<double>(*integer);
  return value.is<bool>() && value.get<bool>() ? 1 : 0;
}

bool all_numbers(const std::vector<TorchValue>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const TorchValue& item) { return item.is_number(); });
}

TorchList* list_of(const BuiltinCall& call, size_t i) {
  const TorchValue* value = call.arg(i);
  const auto* list = value == nullptr ? nullptr : value->get_if<TorchValue::List>();
  return list == nullptr ? nullptr : list->get();
}

TorchValue new_list(const BuiltinCall& call, std::vector<TorchValue> items) {
  TorchValue made = TorchValue::list(std::move(items));
  call.interpreter.created(made.get<TorchValue::List>().get());
  return made;
}

std::optional<bool> same_value(const TorchValue& a, const TorchValue& b) {
  if (a.is_tensor() || b.is_tensor() || a.is<SymScalar>() || b.is<SymScalar>()) return std::nullopt;
  if (a.is_number() && b.is_number()) {
    if (a.is<double>() || b.is<double>()) return real_of(a) == real_of(b);
    const auto integer = [](const TorchValue& value) {
      return value.is<int64_t>() ? value.get<int64_t>() : static_cast<int64_t>(value.get<bool>());
    };
    return integer(a) == integer(b);
  }
  if (const auto *x = a.get_if<std::string>(), *y = b.get_if<std::string>(); x && y)
    return *x == *y;
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (const auto x = as_object<Enumerator>(a), y = as_object<Enumerator>(b); x && y)
    return x->class_name == y->class_name && same_value(x->value, y->value).value_or(false);
  const auto *x = a.items(), *y = b.items();
  if (x == nullptr || y == nullptr) {
    if (a.is<TorchValue::Object>() && b.is<TorchValue::Object>())
      return a.get<TorchValue::Object>() == b.get<TorchValue::Object>();
    return false;
  }
  if (x->size() != y->size()) return false;
  for (size_t i = 0; i < x->size(); ++i) {
    const std::optional<bool> same = same_value((*x)[i], (*y)[i]);
    if (!same || !*same) return same;
  }
  return true;
}

}  // namespace ec::torch::script
