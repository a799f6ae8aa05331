// The outputs of one float graph for calibration samples, and the parts that they fall into:
// computed once for each sample and shared by all trials of a quantisation. Another graph, a
// rescaled one too, needs an object of its own.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ops/value.h"
#include "quantize/measure/output_parts.h"
#include "quantize/tuning.h"
#include "support/result.h"

namespace ec::quantize {

class ReferenceOutputs {
 public:
  // Holds at most so many bytes of outputs. What does not fit is computed at every use.
  explicit ReferenceOutputs(OutputParts parts = {}, size_t most_bytes = tuning::kReferenceBytes)
      : parts_(std::move(parts)), most_bytes_(most_bytes) {}

  // By output; empty where outputs are judged as they are.
  const OutputParts& parts() const { return parts_; }
  // Before the first trial that is judged by them.
  void set_parts(OutputParts parts) { parts_ = std::move(parts); }

  // The outputs for a sample (its index in the source of samples); `run` runs the float graph on
  // it.
  Result<std::vector<Value>> of(size_t sample,
                                const std::function<Result<std::vector<Value>>()>& run);

  size_t uses() const { return uses_; }  // calls of of()
  size_t runs() const { return runs_; }  // calls of `run`
  size_t bytes() const { return bytes_; }

 private:
  OutputParts parts_;
  std::map<size_t, std::vector<Value>> outputs_;  // by sample
  size_t most_bytes_, bytes_ = 0;
  size_t uses_ = 0, runs_ = 0;
};

}  // namespace ec::quantize
