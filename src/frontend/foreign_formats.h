// Files that no front end of this build reads and that users give all the same.
#pragma once

#include <optional>

#include "frontend/frontend.h"

namespace ec {

std::optional<DetectedFormat> describe_foreign_format(const ModelSource& source);

}  // namespace ec
