#include "frontend/torch/script/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "support/strings.h"

namespace ec::torch::script {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run();

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  Error fail(std::string what) const;
  Token& add(Token::Kind kind, size_t start);
  Status line_start();
  Status token();
  Status string(char quote);
  Status number();
  void name();
  Status symbol();

  std::string_view source_;
  size_t at_ = 0;
  int brackets_ = 0;
  std::vector<size_t> indents_ = {0};
  std::vector<Token> tokens_;
};

Error Lexer::fail(std::string what) const {
  const auto line =
      1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  return Error(Code::CorruptFile, fmt::format("line {}: {}", line, what));
}

Token& Lexer::add(Token::Kind kind, size_t start) {
  Token& token = tokens_.emplace_back();
  token.kind = kind;
  token.offset = static_cast<uint32_t>(start);
  return token;
}

// Counts the spaces of a line that has something on it and opens or closes blocks.
Status Lexer::line_start() {
  size_t indent = 0;
  for (;;) {
    const size_t start = at_;
    while (peek() == ' ') ++at_;
    indent = at_ - start;
    if (peek() == '#')
      while (at_ < source_.size() && peek() != '\n') ++at_;
    if (at_ >= source_.size()) return {};
    if (peek() != '\n' && peek() != '\r') break;
    ++at_;
  }
  if (indent > indents_.back()) {
    if (indents_.size() > 200) return fail("blocks nest too deep");
    indents_.push_back(indent);
    add(Token::Kind::Indent, at_);
  }
  while (indent < indents_.back()) {
    indents_.pop_back();
    add(Token::Kind::Dedent, at_);
  }
  if (indent != indents_.back()) return fail("indentation fits no block");
  return {};
}

Status Lexer::string(char quote) {
  const size_t start = at_++;
  std::string text;
  while (peek() != quote) {
    if (at_ >= source_.size() || peek() == '\n') return fail("a string does not end");
    char c = source_[at_++];
    if (c == '\\') {
      c = peek();
      ++at_;
      switch (c) {
        case 'n':
          c = '\n';
          break;
        case 't':
          c = '\t';
          break;
        case 'r':
          c = '\r';
          break;
        case '0':
          c = '\0';
          break;
        default:
          break;
      }
    }
    text += c;
  }
  ++at_;
  add(Token::Kind::String, start).text = std::move(text);
  return {};
}

Status Lexer::number() {
  const size_t start = at_;
  bool real = false;
  while (is_digit(peek())) ++at_;
  if (peek() == '.') {
    real = true;
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  if (peek() == 'e' || peek() == 'E') {
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (is_digit(peek(1 + sign))) {
      real = true;
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
  }
  std::string text(source_.substr(start, at_ - start));
  const bool imaginary = peek() == 'j';
  if (imaginary) ++at_;
  if (text.ends_with('.')) text += '0';
  if (const auto dot = text.find(".e"); dot != text.npos) text.insert(dot + 1, "0");
  if (!real && !imaginary) {
    if (const auto value = parse_int(text)) {
      add(Token::Kind::Int, start).integer = *value;
      return {};
    }
  }
  const auto value = parse_double(text);
  if (!value) return fail("a number that cannot be read");
  add(imaginary ? Token::Kind::Complex : Token::Kind::Float, start).real = *value;
  return {};
}

void Lexer::name() {
  const size_t start = at_;
  while (continues_name(peek())) ++at_;
  add(Token::Kind::Name, start).text = std::string(source_.substr(start, at_ - start));
}

Status Lexer::symbol() {
  const size_t start = at_;
  for (const std::string_view wide : {"->", "..."}) {
    if (!source_.substr(at_).starts_with(wide)) continue;
    at_ += wide.size();
    add(Token::Kind::Symbol, start).text = wide;
    return {};
  }
  const char c = peek();
  if (std::string_view("()[]{},:.=-+").find(c) == std::string_view::npos)
    return fail(fmt::format("unexpected '{}'", printable(std::string_view(&c, 1))));
  if (c == '(' || c == '[' || c == '{') ++brackets_;
  if ((c == ')' || c == ']' || c == '}') && --brackets_ < 0) return fail("unbalanced brackets");
  ++at_;
  add(Token::Kind::Symbol, start).text = c;
  return {};
}

Status Lexer::token() {
  const char c = peek();
  if (c == ' ' || c == '\r') return ++at_, Status();
  if (c == '#') {
    while (at_ < source_.size() && peek() != '\n') ++at_;
    return {};
  }
  if (c == '\n') {
    if (brackets_ == 0) add(Token::Kind::Newline, at_);
    ++at_;
    return brackets_ == 0 ? line_start() : Status();
  }
  if (c == '"' || c == '\'') return string(c);
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  if (starts_name(c)) return name(), Status();
  return symbol();
}

Result<std::vector<Token>> Lexer::run() {
  EC_CHECK_OK(line_start());
  while (at_ < source_.size()) EC_CHECK_OK(token());
  if (brackets_ != 0) return fail("a bracket is not closed");
  if (!tokens_.empty() && tokens_.back().kind != Token::Kind::Newline)
    add(Token::Kind::Newline, at_);
  for (; indents_.size() > 1; indents_.pop_back()) add(Token::Kind::Dedent, at_);
  add(Token::Kind::End, at_);
  return std::move(tokens_);
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace ec::torch::script
