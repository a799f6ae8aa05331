#include "frontend/torch/script/token_cursor.h"

#include <fmt/format.h>

namespace ec::torch::script {

using Kind = Token::Kind;

bool TokenCursor::accept(std::string_view symbol) {
  if (!peek().is_symbol(symbol)) return false;
  ++at_;
  return true;
}

bool TokenCursor::accept_name(std::string_view word) {
  if (!peek().is_name(word)) return false;
  ++at_;
  return true;
}

Error TokenCursor::fail(std::string what) const {
  const size_t offset = std::min<size_t>(peek().offset, source_.size());
  const auto line =
      1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  return Error(Code::CorruptFile, fmt::format("line {}: {}", line, what));
}

Status TokenCursor::expect(std::string_view symbol) {
  if (accept(symbol)) return {};
  return fail(fmt::format("'{}' expected", symbol));
}

Status TokenCursor::expect(Kind kind, std::string_view what) {
  if (peek().kind == kind) {
    if (kind != Kind::End) ++at_;
    return {};
  }
  return fail(fmt::format("{} expected", what));
}

Result<std::string> TokenCursor::identifier() {
  if (peek().kind != Kind::Name) return fail("a name expected");
  return next().text;
}

}  // namespace ec::torch::script
