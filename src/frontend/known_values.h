// Values that are known while a model is imported: constants, and sizes of static shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ec {

// Integer elements in order; nothing when the operand is absent, not known or no integers.
std::optional<std::vector<int64_t>> known_ints(const Tensor* tensor);
// The only element.
std::optional<double> known_scalar(const Tensor* tensor);

}  // namespace ec
