// Values that stand for nothing: scores that a mask takes out in front of a softmax, fillers around
// what a max pool reads. They are minus infinity or nearly so, and must not count as part of a
// range; integers that saturate at its end do for them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quantize/ranges/parameters.h"

namespace ec::quantize {

// By tensor id. Scores that make an output of the graph are judged as they are: Whole.
std::vector<Reading> readings_of(const Graph& graph);

// Some values are below tuning::kUnbounded and stand for nothing; the others are numbers.
bool is_masked(std::span<const float> values);

// Raises, in place, values that do not matter to the lowest one that does. `row`: size of the last
// dimension.
void lift_to_what_counts(std::span<float> values, Reading reading, size_t row, Width width);

// The values of a constant that matter, where it is only added to scores (a lower value makes every
// sum too low to matter) or is the filler of a max pool. Empty: all of them.
std::optional<Range> range_that_counts(const Tensor& constant, const Plan& plan,
                                       const Ranges& ranges);

// Chooses floating point for operations that unbounded values pass through, unless their results
// may saturate. `unbounded`: by tensor id. True: there are some.
bool keep_unbounded_in_float(const Graph& graph, const Plan& plan,
                             const std::vector<bool>& unbounded, PlanOptions& options);

}  // namespace ec::quantize
