// The windows of a pool: which elements of a plane each of its results is taken from.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ops/convert.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec {

// One output position: which input positions of a plane it covers, and of how many taps (those in
// the padding included) its mean is taken when padding counts.
struct PoolWindow {
  int64_t position = 0;
  std::vector<int64_t> sources;
  double padded_count = 0;
};

// Taps of output element o that lie within the input and its padding: in rounding-up mode the last
// window may hang over even that.
inline int64_t padded_taps(const WindowDim& w, int64_t o) {
  const int64_t room = w.input + w.pad_begin + w.pad_end - o * w.stride;
  return std::min(w.kernel, (room + w.dilation - 1) / w.dilation);
}

// Calls f(window) for all output positions in order. Taps in the padding take no time, so that a
// window far larger than its input takes no longer than one of the size of the input.
template <class F>
void for_each_window(std::span<const WindowDim> dims, F&& f) {
  std::vector<int64_t> outputs;
  for (const WindowDim& w : dims) outputs.push_back(w.output);
  IndexWalker walker(outputs);
  PoolWindow window;
  std::vector<int64_t> expanded;
  Ticker ticker;
  do {
    window.sources.assign(1, 0);
    window.padded_count = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t o = walker.index()[d];
      const auto [first, last] = dims[d].taps(o);
      expanded.clear();
      for (const int64_t source : window.sources)
        for (int64_t k = first; k < last; ++k)
          expanded.push_back(source * dims[d].input + o * dims[d].stride - dims[d].pad_begin +
                             k * dims[d].dilation);
      window.sources.swap(expanded);
      if (ticker.tick(static_cast<int64_t>(window.sources.size()))) return;
      window.padded_count *= static_cast<double>(padded_taps(dims[d], o));
    }
    f(window);
    ++window.position;
  } while (walker.next());
}

}  // namespace ec
