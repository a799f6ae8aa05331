// Samples whose values are absurd beside those of all others: a broken file, a value that was never
// set, another unit. One of them would stretch the range of every activation until nothing is left
// of the others.
#pragma once

#include <memory>
#include <vector>

#include "quantize/calibration/sample_source.h"

namespace ec::quantize {

// Hands `source` on without its absurd samples, each of which is named in a warning. Null where
// there is none, and for images, whose values have bounds. `source` outlives the result.
Result<std::unique_ptr<SampleSource>> without_outliers(SampleSource& source, DiagnosticSink& sink);

// Which of these are absurd, given the largest magnitude of each sample: more than a factor above
// the median, of at least three.
std::vector<size_t> absurd_magnitudes(const std::vector<double>& largest);

}  // namespace ec::quantize
