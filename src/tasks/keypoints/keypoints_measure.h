// Keypoints: places in a picture, by coordinates or by the maximum of a map.
#pragma once

#include "tasks/task_scorer.h"

namespace ec::tasks::keypoints {

// Empty: the outputs are something else. A request for the task makes up for what values do not
// show.
std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request);

}  // namespace ec::tasks::keypoints
