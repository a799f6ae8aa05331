#include "frontend/torch/script/builtins.h"

#include <algorithm>
#include <unordered_map>

namespace ec::torch::script {

bool BuiltinCall::all_numbers() const {
  return std::all_of(args.begin(), args.end(),
                     [](const TorchValue& value) { return value.is_number(); });
}

Builtin find_builtin(std::string_view name) {
  static const std::unordered_map<std::string_view, Builtin> kTable = [] {
    std::unordered_map<std::string_view, Builtin> table;
    for (const auto family : {number_builtins(), container_builtins(), text_builtins(),
                              environment_builtins()})
      for (const NamedBuiltin& entry : family) table.emplace(entry.name, entry.function);
    return table;
  }();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second;
}

}  // namespace ec::torch::script
