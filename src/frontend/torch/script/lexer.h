// Tokens of TorchScript source: indentation becomes Indent and Dedent, line ends inside brackets
// vanish.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ec::torch::script {

struct Token {
  enum class Kind : uint8_t {
    Name,
    Int,
    Float,
    Complex,  // real: the imaginary part
    String,
    Symbol,  // text: one of ( ) [ ] { } , : . = -> - + ...
    Newline,
    Indent,
    Dedent,
    End,
  };
  Kind kind = Kind::End;
  uint32_t offset = 0;
  std::string text;  // String: unescaped
  int64_t integer = 0;
  double real = 0;

  bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
  bool is_symbol(std::string_view t) const { return is(Kind::Symbol, t); }
  bool is_name(std::string_view t) const { return is(Kind::Name, t); }
};

// The whole file; the last token is End. Errors: CorruptFile with the line.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace ec::torch::script
