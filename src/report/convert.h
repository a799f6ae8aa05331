// From what quantisation and passes measure to what reports hold.
#pragma once

#include <vector>

#include "edgecompiler/report/compile.h"
#include "passes/manager.h"
#include "quantize/report.h"

namespace ec {

ErrorSummary error_summary(const quantize::ErrorStatistics& error);
TaskSummary task_summary(const tasks::TaskResult& result);
QuantizationReport quantization_report(const quantize::QuantizeReport& report);
std::vector<PassReport> pass_reports(const PipelineReport& report);

}  // namespace ec
