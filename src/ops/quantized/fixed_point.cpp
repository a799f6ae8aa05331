#include "ops/quantized/fixed_point.h"

namespace ec::quantized {

Multiplier quantize_multiplier(double real) {
  if (real == 0.0 || !std::isfinite(real)) return {};
  int shift = 0;
  const double fraction = std::frexp(real, &shift);
  auto fixed = static_cast<int64_t>(std::round(fraction * 2147483648.0));
  if (fixed == int64_t{1} << 31) {
    fixed /= 2;
    ++shift;
  }
  // Too small to matter: the product of any 32-bit number rounds to zero.
  if (shift < -31) return {};
  return {static_cast<int32_t>(fixed), shift};
}

}  // namespace ec::quantized
