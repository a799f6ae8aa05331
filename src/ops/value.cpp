#include "ops/value.h"

#include <algorithm>

namespace ec {

int64_t count_elements(std::span<const int64_t> shape) {
  // Empty, however large the other sizes are: their product need not fit.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  // An empty tensor's other sizes may be as large as they like.
  for (const int64_t size : shape)
    if (size == 0) return 0;
  for (const int64_t size : shape) count *= size;
  return count;
}

}  // namespace ec
