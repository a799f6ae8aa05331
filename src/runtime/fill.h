// Made-up values for inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ops/value.h"
#include "support/result.h"

namespace ec {

enum class Fill : uint8_t { Zeros, Ones, Random };
std::optional<Fill> fill_from_name(std::string_view name);

// Random floats are uniform in [0, 1); integers of 8 and 16 bits cover their range; 32- and 64-bit
// integers, often indices, and bools are 0 or 1. The same seed gives the same values everywhere.
Result<Value> make_value(DType dtype, std::span<const int64_t> shape, Fill fill, uint64_t seed);

}  // namespace ec
