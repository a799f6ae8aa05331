#include "support/progress.h"

#include <atomic>

namespace ec {
namespace {
std::atomic<ProgressListener> g_listener{nullptr};
}

void set_progress_listener(ProgressListener listener) { g_listener = listener; }

void report_progress(std::string_view what, int64_t done, int64_t total) {
  const ProgressListener listener = g_listener.load(std::memory_order_relaxed);
  if (listener != nullptr) listener(what, done, total);
}

}  // namespace ec
