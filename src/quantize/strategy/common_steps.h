// Steps that several strategies have.
#pragma once

#include "support/result.h"

namespace ec::quantize {

struct QuantizeContext;

// Makes the graph of the result from plan, parameters and weights.
Status convert_to_integers(QuantizeContext& context);
// Checks the graph of the result against the rules of quantised graphs.
Status verify_result(QuantizeContext& context);

}  // namespace ec::quantize
