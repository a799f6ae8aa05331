// Real numbers for a quantised input of a model: the one rule by which every command rounds them.
#pragma once

#include "ops/value.h"
#include "support/result.h"

namespace ec {

// Whether an input of this type takes real numbers: 8 or 16 bits with one scale.
bool takes_real_numbers(const TensorType& type);

// Nearest step, ties away from zero, saturated: as the quantize operation in front of an integer
// network rounds (TFLite's QUANTIZE). Not-a-number becomes the zero point. Requires f32 values and
// takes_real_numbers(type).
Result<Value> quantize_input(const Value& value, const TensorType& type);

}  // namespace ec
