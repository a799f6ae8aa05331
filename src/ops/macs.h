// Multiply-accumulate counts of operations, as hardware data sheets count them: one per product of
// a convolution, matrix product, attention or recurrent cell; element-wise operations count none.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace ec {

// Empty: a needed dimension is open (or the count overflows). Bodies of control flow are not
// included.
std::optional<int64_t> count_macs(const Operation& op);

}  // namespace ec
