#include "fuzz/allocation_meter.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define EC_SANITIZER_METER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EC_SANITIZER_METER 1
#endif
#endif

namespace {

std::atomic<long long> g_current{0};
std::atomic<long long> g_peak{0};

void taken(size_t size) {
  const long long now = g_current += static_cast<long long>(size);
  long long peak = g_peak;
  while (now > peak && !g_peak.compare_exchange_weak(peak, now)) {
  }
}

}  // namespace

#ifdef EC_SANITIZER_METER

// As in <sanitizer/allocator_interface.h>, which GCC's packages leave out.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                              void (*on_free)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* p);
}

namespace {

void on_malloc(const volatile void*, size_t size) { taken(size); }
void on_free(const volatile void* p) {
  g_current -= static_cast<long long>(__sanitizer_get_allocated_size(const_cast<const void*>(p)));
}
void install() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  static_cast<void>(installed);
}

}  // namespace

#else

// The functions of the C library under the names that it has for programs with allocators of their
// own. What a program defines counts for its libraries too.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* p);
}

namespace {

void* counted(void* p) {
  if (p != nullptr) taken(malloc_usable_size(p));
  return p;
}
void install() {}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) noexcept { return counted(__libc_calloc(count, size)); }
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return counted(__libc_memalign(alignment, size));
}
void* memalign(size_t alignment, size_t size) noexcept {
  return counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** result, size_t alignment, size_t size) noexcept {
  void* p = counted(__libc_memalign(alignment, size));
  if (p == nullptr) return ENOMEM;
  *result = p;
  return 0;
}
void* realloc(void* p, size_t size) noexcept {
  const size_t before = p != nullptr ? malloc_usable_size(p) : 0;
  void* moved = __libc_realloc(p, size);
  if (moved == nullptr && size > 0) return nullptr;
  g_current -= static_cast<long long>(before);
  return counted(moved);
}
void free(void* p) noexcept {
  if (p != nullptr) g_current -= static_cast<long long>(malloc_usable_size(p));
  __libc_free(p);
}

}  // extern "C"

#endif

namespace ec::fuzz {

AllocationMeter::AllocationMeter() {
  install();
  g_current = 0;
  g_peak = 0;
}

size_t AllocationMeter::peak() const { return static_cast<size_t>(std::max(0LL, g_peak.load())); }

}  // namespace ec::fuzz
