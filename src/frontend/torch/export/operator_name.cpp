#include <algorithm>
#include <array>

#include "frontend/torch/export/import_graph.h"

namespace ec::torch::exported {
namespace {

struct Alternative {
  std::string_view target, name;
};

// Functions of Python on sizes.
constexpr std::array kPython = {
    Alternative{"_operator.add", "aten::add"},
    Alternative{"_operator.sub", "aten::sub"},
    Alternative{"_operator.mul", "aten::mul"},
    Alternative{"_operator.floordiv", "aten::floordiv"},
    Alternative{"_operator.truediv", "aten::div"},
    Alternative{"_operator.mod", "aten::remainder"},
    Alternative{"_operator.pow", "aten::pow"},
    Alternative{"_operator.neg", "aten::neg"},
    Alternative{"_operator.eq", "aten::eq"},
    Alternative{"_operator.ne", "aten::ne"},
    Alternative{"_operator.lt", "aten::lt"},
    Alternative{"_operator.le", "aten::le"},
    Alternative{"_operator.gt", "aten::gt"},
    Alternative{"_operator.ge", "aten::ge"},
    Alternative{"_operator.and_", "aten::__and__"},
    Alternative{"_operator.or_", "aten::__or__"},
    Alternative{"math.trunc", "aten::trunc"},
    Alternative{"math.floor", "aten::floor"},
    Alternative{"math.ceil", "aten::ceil"},
    Alternative{"math.sqrt", "aten::sqrt"},
    Alternative{"round", "aten::round"},
    Alternative{"torch.sym_float", "aten::sym_float"},
    Alternative{"torch.sym_int", "aten::Int"},
    Alternative{"torch.sym_max", "prim::max"},
    Alternative{"torch.sym_min", "prim::min"},
    Alternative{"torch.sym_not", "aten::__not__"},
    Alternative{"torch._sym_sqrt", "aten::sqrt"},
};

}  // namespace

std::string operator_name(std::string_view target) {
  const auto python = std::ranges::find(kPython, target, &Alternative::target);
  if (python != kPython.end()) return std::string(python->name);
  for (const std::string_view prefix : {"torch.ops.", "executorch.exir.dialects.edge._ops."}) {
    if (!target.starts_with(prefix)) continue;
    std::string name(target.substr(prefix.size()));
    if (name.starts_with("higher_order.")) return {};
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return std::string(target);
    return name.replace(dot, 1, "::");
  }
  return std::string(target);
}

}  // namespace ec::torch::exported
