// The quantisation parameters of a tensor whose dimensions change places.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "ir/type.h"

namespace ec {

// Dimension d of the result is dimension perm[d] of the tensor; the axis of parameters follows.
inline std::optional<QuantParams> permuted(std::optional<QuantParams> quant,
                                           std::span<const int64_t> perm) {
  if (quant && quant->per_channel())
    quant->axis =
        static_cast<int32_t>(std::ranges::find(perm, int64_t{quant->axis}) - perm.begin());
  return quant;
}

}  // namespace ec
