// Regression: numbers that are the answer themselves.
#pragma once

#include "tasks/task_scorer.h"

namespace ec::tasks::regression {

// Empty: the outputs are something else. A request for the task makes up for what values do not
// show.
std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request);

}  // namespace ec::tasks::regression
