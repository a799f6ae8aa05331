// From the options of a compilation to what the quantiser is asked for.
#pragma once

#include "driver/compilation.h"
#include "quantize/strategy/strategy.h"

namespace ec {

// How images become the input.
Result<quantize::Preprocessing> preprocessing_of(const Options& options);

// The strategy that --quantize names; null for none. The verb `quantize` has one by default.
Result<const quantize::Strategy*> asked_strategy(const Compilation& compilation);
// The strategy for models that carry their own quantisation parameters; null: this build has none.
const quantize::Strategy* strategy_of_carried_parameters(const Registry& registry);

// Checks that need no model: values that contradict each other, no data.
Status check_quantize_options(const Compilation& compilation);

// Everything but the samples.
Result<quantize::QuantizeRequest> quantize_request(const Compilation& compilation,
                                                   const quantize::Strategy& strategy,
                                                   const quantize::TargetSpec& rules);

}  // namespace ec
