// How many threads a request means.
#pragma once

#include <algorithm>
#include <thread>

namespace ec {

// 0: one per core.
inline int threads_for(int wanted) {
  return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace ec
