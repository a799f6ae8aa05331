// Whether two runs of one model mean the same numbers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/graph.h"
#include "ops/value.h"
#include "support/result.h"

namespace ec::fuzz {

Result<std::vector<Value>> run_graph(const Graph& graph, std::span<const Value> inputs,
                                     bool reference);

// What differs, in words; empty: nothing that rounding does not explain. Integers must be equal bit
// for bit; what is not finite must not become finite.
std::optional<std::string> difference(std::span<const Value> wanted, std::span<const Value> got);

// Whether the reference itself gives other results when every float tensor is changed by parts in a
// million: rounding in another order explains any difference then.
bool is_fragile(const Graph& graph, std::span<const Value> inputs, std::span<const Value> wanted);

}  // namespace ec::fuzz
