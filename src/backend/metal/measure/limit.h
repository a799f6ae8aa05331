// What stays in single precision, and which weights stay as they are, so that a package keeps to
// --max-drop and --min-sqnr.
#pragma once

#include "backend/metal/compress/compress.h"
#include "backend/metal/measure/trial.h"

namespace ec::metal {

class AccuracyLimit {
 public:
  AccuracyLimit(const Trial& trial, const quantize::AccuracyBudget& limit)
      : trial_(trial), limit_(limit) {}

  // Adds to the operations that stay in single precision those that cost most. `graph` computes in
  // single precision. AccuracyNotMet: it cannot be measured.
  Status keep_single(const Graph& graph, HalfPrecisionOptions& options) const;

  // The weights to leave as they are, by position; `graph` is in the package's precision.
  // AccuracyNotMet: the limit holds for none, or nothing can be measured.
  Result<std::vector<bool>> leave_weights(const Graph& graph, const WeightForm& form) const;

 private:
  Status check_measured() const;
  Status check_met(const FormOutcome& outcome) const;
  std::string text() const;  // "--min-sqnr 40"

  const Trial& trial_;
  const quantize::AccuracyBudget& limit_;
};

}  // namespace ec::metal
