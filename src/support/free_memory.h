// Whether there is memory for something large, before it is asked for: the system promises more
// than it has and ends the process later.
#pragma once

#include <cstddef>

namespace ec {

// Sizes below a gigabyte always fit.
bool fits_free_memory(size_t bytes);

}  // namespace ec
