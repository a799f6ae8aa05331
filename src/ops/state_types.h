// Whether what a model writes to a state fits what it reads from it in the next run.
#pragma once

#include "ir/type.h"

namespace ec {

// Sizes that are open may become any; all others are the same.
bool fits_state(const TensorType& read, const TensorType& written);

}  // namespace ec
