// Measuring a model on data: accuracy, and agreement with another model.
//
//   std::string report = ec::evaluate("model_int8.tflite",
//                                     {{"data", "test/"}, {"reference", "model.onnx"}});
//
// Functions throw the exceptions of error.h. Reports are JSON texts with the schema of the command
// line's --json ("result").
#pragma once

#include <string>

#include "edgecompiler/error.h"
#include "edgecompiler/options.h"

namespace ec {

// The options `data` (needed), `reference`, `labels`, `label-offset`, `samples` and `confusion` say
// what to measure; shapes, preprocessing and threads are those of other jobs.
std::string evaluate(const std::string& model, const Options& options);

}  // namespace ec
