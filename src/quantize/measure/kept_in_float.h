// Which operations a plan leaves in floating point, for the report and as a warning.
#pragma once

#include "quantize/report.h"

namespace ec::quantize {

void count_operations(const Graph& graph, const Plan& plan, QuantizeReport& report);
void warn_kept_in_float(const QuantizeReport& report, DiagnosticSink& sink);

}  // namespace ec::quantize
