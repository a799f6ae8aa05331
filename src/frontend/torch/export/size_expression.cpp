#include "frontend/torch/export/program.h"
#include "support/strings.h"

namespace ec::torch::exported {

// Symbol('s77', positive=True, integer=True) is s77; Mul(Integer(2), Symbol('s78', ...)) 2*s78.
void simplify(SizeDef& size) {
  std::string_view text = size.expression;
  constexpr std::string_view kMul = "Mul(Integer(";
  if (text.starts_with(kMul)) {
    text.remove_prefix(kMul.size());
    const size_t close = text.find("), ");
    const auto factor =
        close == std::string_view::npos ? std::nullopt : parse_int(text.substr(0, close));
    if (!factor || *factor < 1) return;
    size.factor = *factor;
    text.remove_prefix(close + 3);
  }
  constexpr std::string_view kSymbol = "Symbol('";
  if (!text.starts_with(kSymbol)) return;
  text.remove_prefix(kSymbol.size());
  const size_t quote = text.find('\'');
  if (quote == std::string_view::npos || text.find("Symbol(", quote) != std::string_view::npos)
    return;
  size.symbol = std::string(text.substr(0, quote));
  size.expression = (size.factor > 1 ? std::to_string(size.factor) + "*" : "") + size.symbol;
}

}  // namespace ec::torch::exported
