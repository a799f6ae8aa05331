// What a strategy gives back: the quantised graph, and what was done and measured on the way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edgecompiler/report/quantization.h"
#include "quantize/measure/accuracy.h"

namespace ec::quantize {

// Parts of the report that the caller sees as they are.
using ec::KeptInFloat;
using ec::MethodGain;
using ec::RaisedLayer;
using ec::StepTime;

// A constant that is stored with fewer bits than it is read with.
struct StoredWeight {
  std::string name, type;
  int64_t bytes_before = 0, bytes_after = 0;  // scales included
  ErrorStatistics error;
};

struct QuantizeReport {
  std::string strategy, target, method, io_type, preprocessing;
  std::vector<MethodGain> methods;
  std::vector<RaisedLayer> raised;
  size_t calibration_samples = 0;
  int64_t integer_ops = 0, float_ops = 0;  // of those that compute on real numbers
  std::vector<KeptInFloat> kept_in_float;
  std::vector<std::string> widened_weights;
  std::vector<StoredWeight> stored_weights;  // of strategies that leave activations as floats
  AccuracyReport accuracy;
  std::vector<StepTime> steps;
};

struct QuantizeResult {
  std::unique_ptr<Graph> graph;
  QuantizeReport report;
};

}  // namespace ec::quantize
