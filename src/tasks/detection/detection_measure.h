// Detection as a task: the changed network's boxes against those of the original one.
#pragma once

#include "tasks/task_scorer.h"

namespace ec::tasks::detection {

// Empty: no head fits.
std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request);

}  // namespace ec::tasks::detection
