// What operations cost: multiply-accumulate counts and bytes of constants.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace ec {

// Multiply-accumulates as hardware data sheets count them: one per product of a convolution, matrix
// product, attention or recurrent cell; element-wise operations count none. Empty: a needed
// dimension is open (or the count overflows). Bodies of control flow are not included.
std::optional<int64_t> count_macs(const Operation& op);

// Bytes of the constants that the operation reads; bodies are not included.
int64_t constant_bytes(const Operation& op);
// Bytes of all constants of the graph and its bodies.
int64_t constant_bytes(const Graph& graph);
// The memory that these constants take: those that share bytes, as a file may have a thousand names
// for one range of its data, count once.
int64_t constant_memory(const Graph& graph);

}  // namespace ec
