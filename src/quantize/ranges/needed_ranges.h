// Which values of a tensor its readers can tell apart. A hard swish takes everything below -3 to
// zero, a sigmoid everything above 8 to almost one: values beyond need no room in front of them,
// and those that matter get finer steps.
#pragma once

#include <optional>
#include <vector>

#include "quantize/ranges/parameters.h"

namespace ec::quantize {

// By tensor id: the range that readers need, within what was seen; empty where a reader needs all
// of it. 16-bit forms have room for everything but masks.
std::vector<std::optional<Range>> needed_ranges(const Graph& graph, const Plan& plan,
                                                const Ranges& seen);

}  // namespace ec::quantize
