// Measuring a model on data: accuracy, and agreement with another model.
//
//   std::string report = ec::evaluate("model_int8.tflite",
//                                     {.data = "test/", .reference = "model.onnx"});
//
// Functions throw the exceptions of error.h. Reports are JSON texts with the schema of the command
// line's --json ("result").
#pragma once

#include <cstdint>
#include <string>

#include "edgecompiler/error.h"
#include "edgecompiler/options.h"

namespace ec {

struct EvaluateOptions {
  // Samples, in the forms of CompileOptions::calibration_data. Folders of a class each are labels,
  // and so are labels beside the arrays of .npz and .pt files.
  std::string data;
  // The model to compare with, usually the one in floating point. Empty: none.
  std::string reference;
  // Labels of the samples: a text file of "PATH LABEL" lines relative to `data`, or of one label
  // per sample; or a .npy file of integers. Empty: told by folders, where they tell.
  std::string labels;
  // Added to a label to find its score: 1 for networks whose first class is the background.
  int64_t label_offset = 0;
  // How many samples to use, spread over all of them; 0: all.
  int64_t samples = 0;
  // Which classes were taken for which.
  bool confusion = false;
};

// Shapes, preprocessing and threads are those of the compile options.
std::string evaluate(const std::string& model, const EvaluateOptions& what,
                     const CompileOptions& options = {});

}  // namespace ec
