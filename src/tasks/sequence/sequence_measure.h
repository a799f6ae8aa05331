// Sequences: the most likely token at each step, with CTC's repeats and blanks taken out.
#pragma once

#include "tasks/task_scorer.h"

namespace ec::tasks::sequence {

// Empty: the outputs are something else. A request for the task makes up for what values do not
// show.
std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request);

}  // namespace ec::tasks::sequence
