// How much work the reference kernel of an operation is, roughly: multiplications of windows and
// products, and elements read and written. Folding asks before it runs a kernel, the self-check
// counts what it runs.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace ec {

// In operations of about a nanosecond; from the types of operands and results alone. Sizes that are
// open count as nothing, sums that overflow as the largest number. Bodies of control flow are not
// included.
uint64_t estimate_work(const Operation& op);

// How much work computing a constant may be when it reads this many bytes of other constants, under
// the budget that the thread carries: what is proportional to the model's own size is always worth
// it.
uint64_t most_fold_work(size_t bytes);

}  // namespace ec
