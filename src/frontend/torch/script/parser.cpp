#include "frontend/torch/script/parser.h"

#include <memory>

#include "frontend/torch/script/expression_parser.h"

namespace ec::torch::script {
namespace {

using Kind = Token::Kind;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Status file(SourceFile& out);

 private:
  Status class_definition(SourceFile& out);
  Status member(Class& out);
  Result<Function> function();
  Result<std::vector<Statement>> block();
  Result<Statement> statement();
  Result<Statement> conditional();
  Result<Statement> for_loop();
  Result<Statement> assignment_or_expression();
};

// --- definitions ---------------------------------------------------------------------------------

Status Parser::file(SourceFile& out) {
  while (peek().kind != Kind::End) {
    if (peek().kind == Kind::Newline) {
      skip();
    } else if (peek().is_name("class")) {
      EC_CHECK_OK(class_definition(out));
    } else if (peek().is_name("def")) {
      EC_TRY(Function made, function());
      std::string name = made.name;
      out.functions.emplace(std::move(name), std::move(made));
    } else {
      return fail("a class or a function expected");
    }
  }
  return {};
}

Status Parser::class_definition(SourceFile& out) {
  skip();
  Class made;
  EC_TRY(made.name, identifier());
  if (accept("(")) {
    EC_TRY(made.base, identifier());
    EC_CHECK_OK(expect(")"));
  }
  EC_CHECK_OK(expect(":"));
  EC_CHECK_OK(expect(Kind::Newline, "a line end"));
  if (peek().kind == Kind::Indent) {
    skip();
    while (peek().kind != Kind::Dedent) EC_CHECK_OK(member(made));
    skip();
  }
  std::string name = made.name;
  out.classes.emplace(std::move(name), std::move(made));
  return {};
}

Status Parser::member(Class& out) {
  if (peek().is_name("def")) {
    EC_TRY(Function made, function());
    std::string name = made.name;
    out.methods.emplace(std::move(name), std::move(made));
    return {};
  }
  if (accept_name("pass")) return expect(Kind::Newline, "a line end");
  EC_TRY(std::string name, identifier());
  if (name == "__annotations__" && accept("[")) {
    if (peek().kind != Kind::String) return fail("an attribute's name expected");
    Field field;
    field.name = next().text;
    EC_CHECK_OK(expect("]"));
    EC_CHECK_OK(expect("="));
    EC_TRY(field.type, expression());
    out.fields.push_back(std::move(field));
  } else if (accept(":")) {
    Field field;
    field.name = std::move(name);
    EC_TRY(field.type, expression());
    if (accept("=")) {
      EC_TRY(field.value, expression());
    }
    out.fields.push_back(std::move(field));
  } else {
    EC_CHECK_OK(expect("="));
    EC_TRY(Expr value, expression());
    out.constants.insert_or_assign(std::move(name), std::move(value));
  }
  return expect(Kind::Newline, "a line end");
}

Result<Function> Parser::function() {
  Function made;
  made.offset = next().offset;
  EC_TRY(made.name, identifier());
  EC_CHECK_OK(expect("("));
  while (!accept(")")) {
    Parameter parameter;
    EC_TRY(parameter.name, identifier());
    if (accept(":")) {
      EC_TRY(parameter.type, expression());
    }
    if (accept("=")) {
      EC_TRY(parameter.default_value, expression());
    }
    made.parameters.push_back(std::move(parameter));
    if (!accept(",") && !peek().is_symbol(")")) return fail("')' expected");
  }
  if (accept("->")) {
    EC_TRY(made.returns, expression());
  }
  EC_CHECK_OK(expect(":"));
  EC_TRY(made.body, block());
  return made;
}

// --- statements ----------------------------------------------------------------------------------

Result<std::vector<Statement>> Parser::block() {
  const Nesting nesting(*this);
  if (nesting.too_deep()) return fail("blocks nest too deep");
  EC_CHECK_OK(expect(Kind::Newline, "a line end"));
  EC_CHECK_OK(expect(Kind::Indent, "an indented block"));
  std::vector<Statement> body;
  while (peek().kind != Kind::Dedent) {
    if (peek().kind == Kind::End) return fail("a block does not end");
    EC_TRY(Statement made, statement());
    body.push_back(std::move(made));
  }
  skip();
  return body;
}

Result<Statement> Parser::conditional() {
  Statement made;
  made.offset = next().offset;
  made.kind = Statement::Kind::If;
  EC_TRY(Expr condition, expression());
  made.values.push_back(std::move(condition));
  EC_CHECK_OK(expect(":"));
  EC_TRY(made.body, block());
  if (accept_name("else")) {
    EC_CHECK_OK(expect(":"));
    EC_TRY(made.otherwise, block());
  }
  return made;
}

Result<Statement> Parser::for_loop() {
  Statement made;
  made.offset = next().offset;
  made.kind = Statement::Kind::For;
  EC_TRY(std::string name, identifier());
  made.targets.push_back(std::move(name));
  if (!accept_name("in") || !accept_name("range")) return fail("'in range' expected");
  EC_CHECK_OK(expect("("));
  EC_TRY(Expr count, expression());
  made.values.push_back(std::move(count));
  EC_CHECK_OK(expect(")"));
  EC_CHECK_OK(expect(":"));
  EC_TRY(made.body, block());
  return made;
}

Result<Statement> Parser::statement() {
  const Token& first = peek();
  Statement made;
  made.offset = first.offset;
  if (first.is_name("if")) return conditional();
  if (first.is_name("for")) return for_loop();
  if (first.is_name("while") || first.is_name("with")) {
    made.kind = first.is_name("while") ? Statement::Kind::While : Statement::Kind::With;
    skip();
    EC_TRY(Expr value, expression());
    made.values.push_back(std::move(value));
    if (made.kind == Statement::Kind::With && accept_name("as")) {
      EC_TRY(std::string name, identifier());
      made.targets.push_back(std::move(name));
    }
    EC_CHECK_OK(expect(":"));
    EC_TRY(made.body, block());
    return made;
  }
  if (first.is_name("def")) {
    made.kind = Statement::Kind::Define;
    EC_TRY(Function function_made, function());
    made.function = std::make_shared<Function>(std::move(function_made));
    return made;
  }
  if (accept_name("pass")) {
    EC_CHECK_OK(expect(Kind::Newline, "a line end"));
    return made;
  }
  if (accept_name("return")) {
    made.kind = Statement::Kind::Return;
    if (peek().kind != Kind::Newline) {
      EC_TRY(Expr value, expression());
      made.values.push_back(std::move(value));
    }
    EC_CHECK_OK(expect(Kind::Newline, "a line end"));
    return made;
  }
  return assignment_or_expression();
}

// "a, b, = t": a comma before '=' unpacks; "a, b = f(x)" has several results or values.
Result<Statement> Parser::assignment_or_expression() {
  Statement made;
  made.offset = peek().offset;
  std::vector<Expr> left;
  for (;;) {
    EC_TRY(Expr value, expression());
    left.push_back(std::move(value));
    if (!accept(",")) break;
    if (ends_list()) {
      made.unpack = true;
      break;
    }
  }
  // "x : Optional[Tensor] = y": the type says nothing that the value does not.
  if (left.size() == 1 && left[0].kind == Expr::Kind::Name && accept(":")) {
    EC_TRY(const Expr type, expression());
    (void)type;
    if (!peek().is_symbol("=")) return fail("'=' expected");
  }
  if (!accept("=")) {
    if (left.size() != 1 || made.unpack) return fail("'=' expected");
    made.kind = Statement::Kind::Expression;
    made.values = std::move(left);
    EC_CHECK_OK(expect(Kind::Newline, "a line end"));
    return made;
  }
  EC_TRY(std::vector<Expr> right, expressions());
  EC_CHECK_OK(expect(Kind::Newline, "a line end"));
  if (left.size() == 1 && left[0].kind == Expr::Kind::Attribute) {
    if (right.size() != 1) return fail("one value expected");
    made.kind = Statement::Kind::AssignField;
    made.values.push_back(std::move(left[0]));
    made.values.push_back(std::move(right[0]));
    return made;
  }
  made.kind = Statement::Kind::Assign;
  for (Expr& target : left) {
    if (target.kind != Expr::Kind::Name) return fail("a name to assign to expected");
    made.targets.push_back(std::move(target.text));
  }
  if (right.size() != 1 && right.size() != made.targets.size())
    return fail("not as many values as names");
  made.values = std::move(right);
  return made;
}

}  // namespace

Result<SourceFile> parse_source(std::string record, std::string_view source) {
  SourceFile file;
  file.record = std::move(record);
  const auto named = [&](Error error) {
    error.diagnostic().message = file.record + ", " + error.message();
    return std::move(error).hint("the archive is damaged: save the model again");
  };
  Result<std::vector<Token>> tokens = tokenize(source);
  if (!tokens.ok()) return named(std::move(tokens).error());
  if (Status parsed = Parser(source, std::move(*tokens)).file(file); !parsed.ok())
    return named(std::move(parsed).error());
  return file;
}

}  // namespace ec::torch::script
