// The integer form of a float graph without any measurement: which operations become integer, and
// where quantize and dequantize stand, is decided by the target's rules alone. Ranges are assumed,
// so the numbers mean nothing; `check` judges the form.
#pragma once

#include "quantize/strategy/common_steps.h"
#include "quantize/strategy/strategy.h"

namespace ec::quantize {

// Whether some tensor carries scales.
bool has_quantized_tensors(const Graph& graph);

// Not in the list of strategies: nothing that it makes may be written.
const Strategy& predicted_integers();

}  // namespace ec::quantize
