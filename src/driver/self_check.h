// The proof that a written file means what the graph means: both are run on the same made-up
// inputs.
#pragma once

#include <string>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct SelfCheck {
  bool ran = false;
  std::string reason;        // why not, when it did not run
  double largest_error = 0;  // of floats, over the largest value of the output
};

// Graphs with the same inputs and outputs, in order. SelfCheckFailed: a result differs, or the
// second graph cannot be run where the first can.
Result<SelfCheck> check_same_results(const Graph& expected, const Graph& written);

}  // namespace ec
