// The outputs of two networks for the same samples: errors of values, of parts, and answers.
#pragma once

#include <string>
#include <vector>

#include "quantize/measure/accuracy.h"
#include "quantize/measure/class_scores.h"
#include "quantize/measure/output_task.h"
#include "quantize/trial/reference_outputs.h"

namespace ec::quantize {

class OutputComparison {
 public:
  // `graph` has the names and meaning of the outputs.
  OutputComparison(const Graph& graph, const OutputMeaning& meaning);

  // One sample's outputs, in order. Other types than f32 and other shapes are left out.
  void see(const std::vector<Value>& expected, const std::vector<Value>& got);
  // Fills outputs and answers of the report.
  void tell(AccuracyReport& report) const;

 private:
  void see_part(const OutputPart& part, PartAccuracy& accuracy, const Value& expected,
                const Value& got);

  const std::vector<std::string> names_;
  const std::vector<std::optional<size_t>> axes_;
  const OutputParts parts_;
  std::vector<ErrorStatistics> errors_;
  std::vector<Agreement> agreement_;
  std::vector<std::vector<PartAccuracy>> by_part_;  // by output; empty where it is one part
  OutputTask::Score task_;
  std::vector<float> kept_a_, kept_b_;
};

}  // namespace ec::quantize
