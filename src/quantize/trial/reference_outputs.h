// The outputs of one float graph for calibration samples, and what they are judged by: computed
// once for each sample and shared by all trials of a quantisation. Another graph, a
// rescaled one too, needs an object of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ops/value.h"
#include "quantize/measure/output_parts.h"
#include "quantize/measure/output_task.h"
#include "quantize/tuning.h"
#include "support/result.h"

namespace ec::quantize {

// What outputs are judged by.
struct OutputMeaning {
  OutputParts parts = {};                       // by output; empty: outputs as they are
  std::shared_ptr<const OutputTask> task = {};  // null: nothing is known of it
};

class ReferenceOutputs {
 public:
  // Holds at most so many bytes of outputs. What does not fit is computed at every use.
  explicit ReferenceOutputs(OutputMeaning meaning = {}, size_t most_bytes = tuning::kReferenceBytes)
      : meaning_(std::move(meaning)), most_bytes_(most_bytes) {}

  const OutputMeaning& meaning() const { return meaning_; }
  // Before the first trial that is judged by it.
  void set_meaning(OutputMeaning meaning) { meaning_ = std::move(meaning); }

  // The outputs for a sample (its index in the source of samples); `run` runs the float graph on
  // it.
  Result<std::vector<Value>> of(size_t sample,
                                const std::function<Result<std::vector<Value>>()>& run);

  size_t uses() const { return uses_; }  // calls of of()
  size_t runs() const { return runs_; }  // calls of `run`
  size_t bytes() const { return bytes_; }

 private:
  OutputMeaning meaning_;
  std::map<size_t, std::vector<Value>> outputs_;  // by sample
  size_t most_bytes_, bytes_ = 0;
  size_t uses_ = 0, runs_ = 0;
};

}  // namespace ec::quantize
