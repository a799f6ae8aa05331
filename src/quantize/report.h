// What a strategy gives back: the quantised graph, and what was done and measured on the way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quantize/measure/accuracy.h"

namespace ec::quantize {

struct KeptInFloat {
  std::string name;  // in the source model
  std::string op;
  std::string reason;
  bool on_purpose = false;  // a method chose it: nothing to warn of
};

struct StepTime {
  std::string step;
  double milliseconds = 0;
};

// What a method did to the SQNR of the outputs, measured with ranges and samples held equal.
struct MethodGain {
  std::string method;
  bool applied = false;
  double before_db = 0, after_db = 0;
  std::string note;
};

// A constant that is stored with fewer bits than it is read with.
struct StoredWeight {
  std::string name, type;
  int64_t bytes_before = 0, bytes_after = 0;  // scales included
  ErrorStatistics error;
};

// A layer that the budget raised.
struct RaisedLayer {
  std::string name, op;
  std::string to;              // "16-bit activations" or "float"
  double work_share = 0;       // about its share of all multiplications: how much becomes slower
  bool leaves_device = false;  // the target has integers only: it runs on the CPU beside it
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
