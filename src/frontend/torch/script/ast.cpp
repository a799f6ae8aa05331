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

}  // namespace ec::torch::script
