#include "runtime/kernels/isa.h"

#include <unistd.h>

namespace ec::kernels {

namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#endif

}  // namespace

bool isa_available(Isa isa) {
  if (isa == Isa::Generic) return true;
#if defined(__x86_64__)
  return isa == Isa::Avx2 ? has_avx2() : has_avx512();
#else
  return false;
#endif
}

Isa best_isa() {
  if (isa_available(Isa::Avx512)) return Isa::Avx512;
  if (isa_available(Isa::Avx2)) return Isa::Avx2;
  return Isa::Generic;
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::Avx512:
      return "avx512";
    case Isa::Avx2:
      return "avx2";
    case Isa::Generic:
      break;
  }
#if defined(__aarch64__)
  return "neon";
#else
  return "generic";
#endif
}

size_t l2_cache_bytes() {
  constexpr size_t kDefault = 512 * 1024;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return static_cast<size_t>(bytes);
#endif
  return kDefault;
}

}  // namespace ec::kernels
