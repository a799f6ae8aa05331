// The steps that fake_quant rounds to.
#pragma once

#include <algorithm>

#include "ops/attrs.h"
#include "support/rounding.h"

namespace ec {

struct FakeQuantSteps {
  float scale, low, high;  // the size of a step, the first step and the last
};

// The range moved so that zero falls on a step. In single precision, as TensorFlow has it: zero
// lies between two steps for common ranges, and the last bit decides which of them it takes.
inline FakeQuantSteps fake_quant_steps(const FakeQuantAttrs& attrs) {
  const float lowest = attrs.narrow_range ? 1.0f : 0.0f;
  const auto highest = static_cast<float>((int64_t{1} << attrs.num_bits) - 1);
  const float scale = (attrs.max - attrs.min) / (highest - lowest);
  const float wanted = lowest - attrs.min / scale;
  const float zero = round_half_away(std::clamp(wanted, lowest, highest));
  return {scale, (lowest - zero) * scale, (highest - zero) * scale};
}

}  // namespace ec
