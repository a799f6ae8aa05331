#include "ops/value.h"

namespace ec {

int64_t count_elements(std::span<const int64_t> shape) {
  int64_t count = 1;
  // An empty tensor's other sizes may be as large as they like.
  for (const int64_t size : shape)
    if (size == 0) return 0;
  for (const int64_t size : shape) count *= size;
  return count;
}

}  // namespace ec
