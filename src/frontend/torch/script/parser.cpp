#include "frontend/torch/script/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/torch/script/lexer.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

using Kind = Token::Kind;

// Brackets, calls and blocks of machine-written code nest far less.
constexpr int kMaxDepth = 300;

class Parser {
 public:
  Parser(std::string_view source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  Status file(SourceFile& out);

 private:
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_.back(); }
  bool accept(std::string_view symbol);
  bool accept_name(std::string_view word);
  Status expect(std::string_view symbol);
  Status expect(Kind kind, std::string_view what);
  Result<std::string> identifier();
  Error fail(std::string what) const;

  Status class_definition(SourceFile& out);
  Status member(Class& out);
  Result<Function> function();
  Result<std::vector<Statement>> block();
  Result<Statement> statement();
  Result<Statement> conditional();
  Result<Statement> for_loop();
  Result<Statement> assignment_or_expression();
  Result<std::vector<Expr>> expressions();
  Result<Expr> expression();
  Result<Expr> primary();
  Result<Expr> number(double sign);
  Result<Expr> bracketed(std::string_view close, Expr::Kind kind);
  Result<Expr> dictionary();
  Status arguments(Expr& call);
  bool ends_list() const;

  struct Nesting {
    explicit Nesting(int& depth) : depth_(++depth) {}
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep() const { return depth_ > kMaxDepth; }
    int& depth_;
  };

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

bool Parser::accept(std::string_view symbol) {
  if (!peek().is_symbol(symbol)) return false;
  ++at_;
  return true;
}

bool Parser::accept_name(std::string_view word) {
  if (!peek().is_name(word)) return false;
  ++at_;
  return true;
}

Error Parser::fail(std::string what) const {
  const size_t offset = std::min<size_t>(peek().offset, source_.size());
  const auto line =
      1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  return Error(Code::CorruptFile, fmt::format("line {}: {}", line, what));
}

Status Parser::expect(std::string_view symbol) {
  if (accept(symbol)) return {};
  return fail(fmt::format("'{}' expected", symbol));
}

Status Parser::expect(Kind kind, std::string_view what) {
  if (peek().kind == kind) {
    if (kind != Kind::End) ++at_;
    return {};
  }
  return fail(fmt::format("{} expected", what));
}

Result<std::string> Parser::identifier() {
  if (peek().kind != Kind::Name) return fail("a name expected");
  return next().text;
}

// --- definitions ---------------------------------------------------------------------------------

Status Parser::file(SourceFile& out) {
  while (peek().kind != Kind::End) {
    if (peek().kind == Kind::Newline) {
      ++at_;
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
  ++at_;
  Class made;
  EC_TRY(made.name, identifier());
  if (accept("(")) {
    EC_TRY(made.base, identifier());
    EC_CHECK_OK(expect(")"));
  }
  EC_CHECK_OK(expect(":"));
  EC_CHECK_OK(expect(Kind::Newline, "a line end"));
  if (peek().kind == Kind::Indent) {
    ++at_;
    while (peek().kind != Kind::Dedent) EC_CHECK_OK(member(made));
    ++at_;
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
  const Nesting nesting(depth_);
  if (nesting.too_deep()) return fail("blocks nest too deep");
  EC_CHECK_OK(expect(Kind::Newline, "a line end"));
  EC_CHECK_OK(expect(Kind::Indent, "an indented block"));
  std::vector<Statement> body;
  while (peek().kind != Kind::Dedent) {
    if (peek().kind == Kind::End) return fail("a block does not end");
    EC_TRY(Statement made, statement());
    body.push_back(std::move(made));
  }
  ++at_;
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
    ++at_;
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

bool Parser::ends_list() const { return peek().kind == Kind::Newline || peek().is_symbol("="); }

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

// --- expressions ---------------------------------------------------------------------------------

Result<std::vector<Expr>> Parser::expressions() {
  std::vector<Expr> values;
  for (;;) {
    EC_TRY(Expr value, expression());
    values.push_back(std::move(value));
    if (!accept(",") || ends_list()) return values;
  }
}

Result<Expr> Parser::expression() {
  const Nesting nesting(depth_);
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

Status Parser::arguments(Expr& call) {
  EC_CHECK_OK(expect("("));
  while (!accept(")")) {
    if (peek().kind == Kind::Name && peek(1).is_symbol("=")) {
      call.keywords.push_back(next().text);
      ++at_;
    } else if (!call.keywords.empty()) {
      return fail("a positional argument after a keyword");
    }
    EC_TRY(Expr value, expression());
    call.children.push_back(std::move(value));
    if (!accept(",") && !peek().is_symbol(")")) return fail("')' expected");
  }
  return {};
}

Result<Expr> Parser::bracketed(std::string_view close, Expr::Kind kind) {
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

Result<Expr> Parser::dictionary() {
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
Result<Expr> Parser::number(double sign) {
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
    --at_;
    return fail("a number expected");
  }
  if ((peek().is_symbol("+") || peek().is_symbol("-")) && peek(1).kind == Kind::Complex) {
    at_ += 2;
    made.kind = Expr::Kind::Complex;
  }
  return made;
}

Result<Expr> Parser::primary() {
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
    if (inner.children.size() == 1 && !tokens_[at_ - 2].is_symbol(",")) {
      Expr only = std::move(inner.children[0]);
      return only;
    }
    return inner;
  }
  return fail("an expression expected");
}

}  // namespace

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
