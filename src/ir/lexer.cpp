#include "ir/lexer.h"

#include <algorithm>
#include <cctype>

#include "support/strings.h"

namespace ec {
namespace {

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name_char(char c) {
  return is_word_char(c) || c == '.' || c == '/' || c == '$' || c == '-';
}
bool is_number_char(char c) { return is_word_char(c) || c == '.' || c == '+' || c == '-'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Error Lexer::error_at(size_t offset, const std::string& message) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return Error(Code::BadText, "line " + std::to_string(line) + ", column " +
                                  std::to_string(before.size() - line_start + 1) + ": " + message);
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

Result<Token> Lexer::string_token(Token::Kind kind) {
  Token token{kind, {}, at_};
  ++at_;  // the opening quote
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\\') {
      if (at_ >= text_.size()) break;
      c = text_[at_++];
      if (c == 'x') {
        const int high = at_ + 1 < text_.size() ? hex_digit(text_[at_]) : -1;
        const int low = at_ + 1 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
        if (high < 0 || low < 0) return error_at(at_, "\\x needs two hex digits");
        c = static_cast<char>(high * 16 + low);
        at_ += 2;
      } else if (c != '"' && c != '\\') {
        return error_at(at_ - 1, "unknown escape in string");
      }
    }
    token.text += c;
  }
  if (at_ >= text_.size()) return error_at(token.offset, "string is not closed");
  ++at_;
  return token;
}

Result<Token> Lexer::name_token(Token::Kind kind) {
  const size_t start = at_++;
  if (at_ < text_.size() && text_[at_] == '"') {
    EC_TRY(Token token, string_token(kind));
    token.offset = start;
    return token;
  }
  const size_t begin = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) {
    if (text_.substr(at_, 2) == "->") break;
    ++at_;
  }
  if (at_ == begin) return error_at(start, "name expected");
  return Token{kind, std::string(text_.substr(begin, at_ - begin)), start};
}

Result<Token> Lexer::next() {
  skip_space();
  if (at_ >= text_.size()) return Token{Token::Kind::End, {}, at_};
  const char c = text_[at_];
  const size_t start = at_;
  if (c == '"') return string_token(Token::Kind::String);
  if (c == '%') return name_token(Token::Kind::Ref);
  if (c == '@') return name_token(Token::Kind::Symbol);
  if (text_.substr(at_, 2) == "->") {
    at_ += 2;
    return Token{Token::Kind::Punct, "->", start};
  }
  if (text_.substr(at_, 3) == "...")
    return error_at(start, "constant was left out when this text was printed");
  if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+') {
    ++at_;
    while (at_ < text_.size() && is_number_char(text_[at_])) ++at_;
    return Token{Token::Kind::Number, std::string(text_.substr(start, at_ - start)), start};
  }
  if (is_word_start(c)) {
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return Token{Token::Kind::Word, std::string(text_.substr(start, at_ - start)), start};
  }
  if (std::string_view("()[]{},:=*?").find(c) != std::string_view::npos) {
    ++at_;
    return Token{Token::Kind::Punct, std::string(1, c), start};
  }
  return error_at(start, "unexpected character '" + printable(std::string_view(&c, 1)) + "'");
}

}  // namespace ec
