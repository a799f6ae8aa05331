// Ways to make a float graph integer, by name. A strategy is a sequence of named steps; each step
// is a function of its own header (plan.h, calibrate.h, parameters.h, convert.h, verify.h,
// accuracy.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quantize/accuracy.h"

namespace ec::quantize {

struct QuantizeRequest {
  const TargetSpec* target = nullptr;
  SampleSource* samples = nullptr;
  size_t wanted_samples = 0;  // 0: what is there, at most kDefaultSamples
  std::string method;         // of the observers; empty: the default
  IoType io = IoType::Float;
  Preprocessing preprocessing;
  std::vector<std::string> keep_float;
  int threads = 1;
};

struct KeptInFloat {
  std::string name;  // in the source model
  std::string op;
  std::string reason;
};

struct StepTime {
  std::string step;
  double milliseconds = 0;
};

struct QuantizeReport {
  std::string strategy, target, method, io_type, preprocessing;
  size_t calibration_samples = 0;
  int64_t integer_ops = 0, float_ops = 0;  // of those that compute on real numbers
  std::vector<KeptInFloat> kept_in_float;
  std::vector<std::string> widened_weights;
  AccuracyReport accuracy;
  std::vector<StepTime> steps;
};

struct QuantizeResult {
  std::unique_ptr<Graph> graph;
  QuantizeReport report;
};

struct StepInfo {
  std::string_view name, summary;
};

struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::span<const StepInfo> steps;
  // `graph` is in the form the target's writer takes. It is not changed.
  Result<QuantizeResult> (*run)(const Graph& graph, const QuantizeRequest& request,
                                DiagnosticSink& sink);
};

std::span<const Strategy> all_strategies();
// "int8" is "ptq". Usage: no such strategy, with the nearest name.
Result<const Strategy*> find_strategy(std::string_view name);

}  // namespace ec::quantize
