#include "frontend/torch/script/expression_parser.h"

#include <fmt/format.h>

#include <limits>

namespace ec::torch::script {

using Kind = Token::Kind;

bool ExpressionParser::ends_list() const {
  return peek().kind == Kind::Newline || peek().is_symbol("=");
}

Result<std::vector<Expr>> ExpressionParser::expressions() {
  std::vector<Expr> values;
  for (;;) {
    EC_TRY(Expr value, expression());
    values.push_back(std::move(value));
    if (!accept(",") || ends_list()) return values;
  }
}

Result<Expr> ExpressionParser::expression() {
  const Nesting nesting(*this);
  if (nesting.too_deep()) return fail("expressions nest too deep");
  EC_TRY(Expr value, primary());
  // A chain of a.b.c(d)[e] is deep on the left; bounded, as the tree is walked recursively.
  for (int links = 0; links < kMaxDepth; ++links) {
    Expr outer;
    outer.offset = value.offset;
    if (accept(".")) {
      outer.kind = Expr::Kind::Attribute;
      EC_TRY(outer.text, identifier());
      outer.children.push_back(std::move(value));
    } else if (accept("[")) {
      outer.kind = Expr::Kind::Subscript;
      outer.children.push_back(std::move(value));
      EC_TRY(Expr index, bracketed("]", Expr::Kind::Tuple));
      // One index is no tuple; Tuple[()] and List[a, b] keep theirs.
      if (index.children.size() == 1) {
        Expr only = std::move(index.children[0]);
        index = std::move(only);
      }
      outer.children.push_back(std::move(index));
    } else if (peek().is_symbol("(")) {
      outer.kind = Expr::Kind::Call;
      outer.offset = value.offset;
      outer.children.push_back(std::move(value));
      EC_CHECK_OK(arguments(outer));
    } else {
      return value;
    }
    value = std::move(outer);
  }
  return fail("expressions nest too deep");
}

Status ExpressionParser::arguments(Expr& call) {
  EC_CHECK_OK(expect("("));
  while (!accept(")")) {
    if (peek().kind == Kind::Name && peek(1).is_symbol("=")) {
      call.keywords.push_back(next().text);
      skip();
    } else if (!call.keywords.empty()) {
      return fail("a positional argument after a keyword");
    }
    EC_TRY(Expr value, expression());
    call.children.push_back(std::move(value));
    if (!accept(",") && !peek().is_symbol(")")) return fail("')' expected");
  }
  return {};
}

Result<Expr> ExpressionParser::bracketed(std::string_view close, Expr::Kind kind) {
  Expr made;
  made.kind = kind;
  made.offset = peek().offset;
  while (!accept(close)) {
    EC_TRY(Expr value, expression());
    made.children.push_back(std::move(value));
    if (!accept(",") && !peek().is_symbol(close)) return fail(fmt::format("'{}' expected", close));
  }
  return made;
}

Result<Expr> ExpressionParser::dictionary() {
  Expr made;
  made.kind = Expr::Kind::Dict;
  made.offset = peek().offset;
  while (!accept("}")) {
    EC_TRY(Expr key, expression());
    EC_CHECK_OK(expect(":"));
    EC_TRY(Expr value, expression());
    made.children.push_back(std::move(key));
    made.children.push_back(std::move(value));
    if (!accept(",") && !peek().is_symbol("}")) return fail("'}' expected");
  }
  return made;
}

// A literal, "-inf", "nan" and "1.+2.j".
Result<Expr> ExpressionParser::number(double sign) {
  const Token token = next();
  Expr made;
  made.offset = token.offset;
  if (token.kind == Kind::Int) {
    made.kind = Expr::Kind::Int;
    made.integer = sign < 0 ? -token.integer : token.integer;
    return made;
  }
  if (token.kind == Kind::Complex) {
    made.kind = Expr::Kind::Complex;
    return made;
  }
  made.kind = Expr::Kind::Float;
  if (token.kind == Kind::Float) {
    made.real = sign * token.real;
  } else if (token.is_name("inf")) {
    made.real = sign * std::numeric_limits<double>::infinity();
  } else if (token.is_name("nan")) {
    made.real = std::numeric_limits<double>::quiet_NaN();
  } else {
    step_back();
    return fail("a number expected");
  }
  if ((peek().is_symbol("+") || peek().is_symbol("-")) && peek(1).kind == Kind::Complex) {
    skip(2);
    made.kind = Expr::Kind::Complex;
  }
  return made;
}

Result<Expr> ExpressionParser::primary() {
  const Token& token = peek();
  Expr made;
  made.offset = token.offset;
  switch (token.kind) {
    case Kind::Int:
    case Kind::Float:
    case Kind::Complex:
      return number(1);
    case Kind::String:
      made.kind = Expr::Kind::String;
      made.text = next().text;
      return made;
    case Kind::Name:
      if (token.text == "inf" || token.text == "nan") return number(1);
      made.kind = token.text == "None"    ? Expr::Kind::None
                  : token.text == "True"  ? Expr::Kind::True
                  : token.text == "False" ? Expr::Kind::False
                                          : Expr::Kind::Name;
      made.text = next().text;
      return made;
    default:
      break;
  }
  if (accept("-")) return number(-1);
  if (accept("[")) return bracketed("]", Expr::Kind::List);
  if (accept("{")) return dictionary();
  if (accept("...")) {
    made.kind = Expr::Kind::Ellipsis;
    return made;
  }
  if (accept("(")) {
    EC_TRY(Expr inner, bracketed(")", Expr::Kind::Tuple));
    // "(x)" is x, "(x,)" a tuple: the token before the bracket tells.
    if (inner.children.size() == 1 && !behind(2).is_symbol(",")) {
      Expr only = std::move(inner.children[0]);
      return only;
    }
    return inner;
  }
  return fail("an expression expected");
}

}  // namespace ec::torch::script
