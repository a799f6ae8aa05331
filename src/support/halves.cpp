#include "support/halves.h"

#include "support/small_float.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ec {
namespace {

void convert_each(const float* values, size_t count, uint16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = float_to_half(values[i]);
}
void convert_each(const uint16_t* values, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = half_to_float(values[i]);
}
void round_each(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = half_to_float(float_to_half(values[i]));
}

#if defined(__x86_64__)

constexpr size_t kLanes = 8;

bool has_f16c() {
  // A processor whose AVX2 may be used has its registers saved by the system.
  static const bool kHas = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
           (c & bit_F16C) != 0;
  }();
  return kHas;
}

// The instructions keep other bits of a NaN than ours do.
__attribute__((target("avx,f16c"))) bool has_nan(__m256 x) {
  return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0;
}

__attribute__((target("avx,f16c"))) size_t convert_lanes(const float* values, size_t count,
                                                         uint16_t* out) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 x = _mm256_loadu_ps(values + i);
    if (has_nan(x))
      convert_each(values + i, kLanes, out + i);
    else
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                       _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t convert_lanes(const uint16_t* values, size_t count,
                                                         float* out) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i)));
    if (has_nan(x))
      convert_each(values + i, kLanes, out + i);
    else
      _mm256_storeu_ps(out + i, x);
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t round_lanes(float* values, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 x = _mm256_loadu_ps(values + i);
    if (has_nan(x))
      round_each(values + i, kLanes);
    else
      _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)));
  }
  return i;
}

#else

constexpr bool has_f16c() { return false; }
template <class... Any>
size_t convert_lanes(Any...) {
  return 0;
}
size_t round_lanes(float*, size_t) { return 0; }

#endif

}  // namespace

void floats_to_halves(std::span<const float> values, uint16_t* out) {
  const size_t done = has_f16c() ? convert_lanes(values.data(), values.size(), out) : 0;
  convert_each(values.data() + done, values.size() - done, out + done);
}

void halves_to_floats(std::span<const uint16_t> values, float* out) {
  const size_t done = has_f16c() ? convert_lanes(values.data(), values.size(), out) : 0;
  convert_each(values.data() + done, values.size() - done, out + done);
}

void round_to_halves(std::span<float> values) {
  const size_t done = has_f16c() ? round_lanes(values.data(), values.size()) : 0;
  round_each(values.data() + done, values.size() - done);
}

}  // namespace ec
