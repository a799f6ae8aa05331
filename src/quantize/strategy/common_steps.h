// Steps that several strategies have.
#pragma once

#include <cstddef>
#include <span>

#include "support/result.h"

namespace ec::quantize {

struct QuantizeContext;

// Finds out what the outputs mean by what the float network gives for some of the samples. Usage:
// the budget counts answers, and the outputs have none.
Status find_meaning(QuantizeContext& context, std::span<const size_t> samples);
// The same by the graph alone, where there are no samples.
Status check_budget_without_samples(const QuantizeContext& context);
// Makes the graph of the result from plan, parameters and weights.
Status convert_to_integers(QuantizeContext& context);
// Checks the graph of the result against the rules of quantised graphs.
Status verify_result(QuantizeContext& context);

}  // namespace ec::quantize
