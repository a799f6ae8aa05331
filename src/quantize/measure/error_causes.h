// Why a layer lost accuracy, and what to do about it.
#pragma once

#include "quantize/measure/accuracy.h"
#include "quantize/ranges/calibrate.h"

namespace ec::quantize {

// Names the cause of layers that stand out, in `report`.
void name_causes(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                 const FormParams& params, AccuracyReport& report);

}  // namespace ec::quantize
