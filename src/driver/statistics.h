// What calibration measured, in files of --save-statistics and --statistics.
#pragma once

#include "driver/compilation.h"
#include "quantize/trial/measurements.h"
#include "support/result.h"

namespace ec {

// With --statistics: the options that describe the data as they were when the statistics were made.
// Errors: CorruptFile where the file holds none, BadCalibrationData where an option differs.
Status take_options_of_statistics(const OptionCatalog& catalog, Verb verb, Options& options);

// What decides the measurements beside the graph and the data.
quantize::MeasuredWith statistics_of_options(const Compilation& compilation);

// To the file of --save-statistics.
Status save_statistics(const Compilation& compilation, quantize::Measurements& measurements);

}  // namespace ec
