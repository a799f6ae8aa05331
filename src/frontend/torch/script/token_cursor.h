// A position in the tokens of a source file, and what the parsers ask of it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/torch/script/lexer.h"
#include "support/result.h"

namespace ec::torch::script {

class TokenCursor {
 public:
  TokenCursor(std::string_view source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

 protected:
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& behind(size_t count) const { return tokens_[at_ - count]; }
  Token next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_.back(); }
  void skip(size_t count = 1) { at_ += count; }
  void step_back() { --at_; }
  bool accept(std::string_view symbol);
  bool accept_name(std::string_view word);
  Status expect(std::string_view symbol);
  Status expect(Token::Kind kind, std::string_view what);
  Result<std::string> identifier();
  Error fail(std::string what) const;

 private:
  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace ec::torch::script
