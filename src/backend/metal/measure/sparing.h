// The search for the parts of a model, operations or weights, that must not get a cheaper form for
// the results to stay within a limit: as few as the order of their own error allows.
#pragma once

#include <functional>
#include <vector>

#include "quantize/request.h"
#include "support/result.h"

namespace ec::metal {

// What a form does to the results on all samples.
struct FormOutcome {
  double agreement = 1, sqnr_db = 120;  // of the answers, and of the worst part of the outputs

  bool meets(const quantize::AccuracyBudget& limit) const {
    return (!limit.max_drop || 1 - agreement <= *limit.max_drop) &&
           (!limit.min_sqnr || sqnr_db >= *limit.min_sqnr);
  }
};

// By part: whether it has the cheaper form.
using PartsInForm = std::vector<bool>;

struct SparingSearch {
  size_t parts = 0;
  // The runs of the model that ranking may take.
  size_t most_runs = 100;
  std::function<Result<FormOutcome>(const PartsInForm&)> judge;
  // Noise over signal of the worst output, on as few samples as tell.
  std::function<Result<double>(const PartsInForm&)> noise;
};

struct Sparing {
  PartsInForm in_form;
  FormOutcome before, after;  // with all parts in the form, and with those of `in_form`
};

// Errors: those of the runs alone. `after` does not meet the limit where no choice of parts does.
Result<Sparing> spare_parts(const SparingSearch& search, const quantize::AccuracyBudget& limit);

}  // namespace ec::metal
