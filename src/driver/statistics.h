// What calibration measured, in files of --save-statistics and --statistics.
#pragma once

#include <string>

#include "edgecompiler/options.h"
#include "quantize/trial/measurements.h"
#include "support/result.h"

namespace ec {

// With --statistics: the options of the data as they were when the statistics were made.
// CorruptFile: the file holds none.
Result<CompileOptions> with_options_of_statistics(const CompileOptions& given);

// What decides the measurements beside the graph and the data.
quantize::MeasuredWith measured_with(const CompileOptions& options);

Result<quantize::Measurements> load_statistics(const std::string& path);
// To options.save_statistics.
Status save_statistics(quantize::Measurements& measurements, const CompileOptions& options);

}  // namespace ec
