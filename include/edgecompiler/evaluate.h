// Measuring a model on data: accuracy, and agreement with another model.
//
//   ec::EvaluateReport report = ec::evaluate(
//       "model_int8.tflite", {{"data", "test/"}, {"reference", "model.onnx"}});
//   std::printf("top-1 %.3f\n", report.model.top1.value_or(0));
//
// Functions throw the exceptions of error.h.
#pragma once

#include <string>

#include "edgecompiler/error.h"
#include "edgecompiler/options.h"
#include "edgecompiler/report.h"

namespace ec {

// The options `data` (needed), `reference`, `labels`, `label-offset`, `samples` and `confusion` say
// what to measure; shapes, preprocessing and threads are those of other jobs.
EvaluateReport evaluate(const std::string& model, const Options& options);

}  // namespace ec
