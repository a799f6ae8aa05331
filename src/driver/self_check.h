// The proof that a written file means what the graph means: both are run on the same made-up
// inputs.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

struct SelfCheck {
  bool ran = false;
  std::string reason;        // why not, when it did not run
  double largest_error = 0;  // of floats, over the largest value of the output
};

// The written graphs are run one after the other, each on the outputs of the one before: the first
// has the inputs of the expected graph and the last its outputs, in order. SelfCheckFailed: a
// result differs, or a written graph cannot be run where the expected one can.
Result<SelfCheck> check_same_results(const Graph& expected, std::span<const Graph* const> written);

}  // namespace ec
