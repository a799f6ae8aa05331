// Where a job that has to stop was stopped.
#pragma once

#include "ir/graph.h"
#include "support/budget.h"

namespace ec {

// The error of a job that has to stop (support/budget.h), at the operation that it stopped in. A
// kernel may have left its results unfinished then.
Status check_budget_at(const Operation& op);

}  // namespace ec
