// Samples for a graph whose image inputs were transposed from [N, C, ...] to [N, ..., C]: read in
// the model's own order, handed on in the graph's.
#pragma once

#include "quantize/calibration/sample_source.h"

namespace ec::quantize {

// `transposed`: for each input whether it was. `source` must outlive the result.
std::unique_ptr<SampleSource> channels_last_samples(SampleSource& source,
                                                    std::vector<bool> transposed);

}  // namespace ec::quantize
