#include "frontend/torch/script/ast.h"

namespace ec::torch::script {

std::string dotted(const Expr& expr) {
  if (expr.kind == Expr::Kind::Name) return expr.text;
  if (expr.kind != Expr::Kind::Attribute) return {};
  std::string base = dotted(expr.children[0]);
  return base.empty() ? base : base + "." + expr.text;
}

std::string type_text(const Expr& type) {
  switch (type.kind) {
    case Expr::Kind::None:
      return "None";
    case Expr::Kind::Subscript:
      return type_text(type.children[0]) + "[" + type_text(type.children[1]) + "]";
    case Expr::Kind::Tuple: {
      std::string text;
      for (const Expr& child : type.children) text += (text.empty() ? "" : ", ") + type_text(child);
      return text.empty() ? "()" : text;
    }
    default:
      return dotted(type);
  }
}

std::string called_operator(const Expr& callee) {
  const std::string name = dotted(callee);
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return {};
  const std::string_view first = std::string_view(name).substr(0, dot);
  if (first == "torch") return "aten::" + name.substr(dot + 1);
  if (first != "ops") return {};
  const size_t second = name.find('.', dot + 1);
  if (second == std::string::npos) return {};
  return name.substr(dot + 1, second - dot - 1) + "::" + name.substr(second + 1);
}

}  // namespace ec::torch::script
