// Tokens of the text form. Positions are kept for messages; the lexer never reads past the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ec {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    // identifier, keyword, enumerator, symbol
    Number,  // as written
    String,  // unescaped text
    Ref,     // %name
    Symbol,  // @name
    Punct,   // one of ( ) [ ] { } , : = * ? _ and "->"
  };
  Kind kind = Kind::End;
  std::string text;
  size_t offset = 0;

  bool is(std::string_view punct) const { return kind == Kind::Punct && text == punct; }
  bool is_word(std::string_view word) const { return kind == Kind::Word && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next();
  // "line 3, column 7: message" as a BadText error.
  Error error_at(size_t offset, const std::string& message) const;

 private:
  void skip_space();
  Result<Token> string_token(Token::Kind kind);
  Result<Token> name_token(Token::Kind kind);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace ec
