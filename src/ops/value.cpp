#include "ops/value.h"

#include <algorithm>
#include <limits>

namespace ec {

int64_t count_elements(std::span<const int64_t> shape) {
  // Empty, however large the other sizes are: their product need not fit.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return std::numeric_limits<int64_t>::max();
  return count;
}

}  // namespace ec
