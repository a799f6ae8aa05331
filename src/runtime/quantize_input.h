// Real values for an input that the model stores as integers: the one rule for every way to feed a
// quantised model. It is that of LiteRT's QUANTIZE: the quotient in single precision, rounded to
// the nearest integer with ties away from zero, plus the zero point, clamped to the type.
#pragma once

#include "ir/type.h"
#include "ops/value.h"
#include "support/result.h"

namespace ec {

// Whether an input of this type takes real values, too: 8 or 16 bits with one scale.
bool takes_real_numbers(const TensorType& type);

// The stored form of f32 elements. Not-a-number becomes the zero point. Requires
// takes_real_numbers(type).
Result<Value> quantize_input(const Value& value, const TensorType& type);

}  // namespace ec
