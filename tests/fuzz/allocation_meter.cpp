#include "fuzz/allocation_meter.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define EC_METER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EC_METER 1
#endif
#endif

#ifdef EC_METER
// As in <sanitizer/allocator_interface.h>, which GCC's packages leave out.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                              void (*on_free)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* p);
}
#endif

namespace ec::fuzz {
namespace {

std::atomic<long long> g_current{0};
std::atomic<long long> g_peak{0};

#ifdef EC_METER
void on_malloc(const volatile void*, size_t size) {
  const long long now = g_current += static_cast<long long>(size);
  long long peak = g_peak;
  while (now > peak && !g_peak.compare_exchange_weak(peak, now)) {
  }
}
void on_free(const volatile void* p) {
  g_current -= static_cast<long long>(__sanitizer_get_allocated_size(const_cast<const void*>(p)));
}
#endif

}  // namespace

bool AllocationMeter::available() {
#ifdef EC_METER
  return true;
#else
  return false;
#endif
}

AllocationMeter::AllocationMeter() {
#ifdef EC_METER
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  static_cast<void>(installed);
#endif
  g_current = 0;
  g_peak = 0;
}

size_t AllocationMeter::peak() const { return static_cast<size_t>(std::max(0LL, g_peak.load())); }

}  // namespace ec::fuzz
