// One float vector type per instruction set, through the compiler's vector extensions.
//
// Included only by the files of this folder, which the build compiles once per instruction set with
// EC_SIMD_NS naming the namespace. Nothing here may be used from code built for another set, and
// these files include no standard header with inline functions of weight: the linker could keep the
// copy built for the newer processor.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if !defined(EC_SIMD_NS)
#error "compile through the ec_kernels targets, which define EC_SIMD_NS"
#endif

namespace ec::kernels::EC_SIMD_NS {

using Index = int64_t;

#if defined(__AVX512F__)
inline constexpr Index kLanes = 16;
#elif defined(__AVX2__)
inline constexpr Index kLanes = 8;
#else
inline constexpr Index kLanes = 4;
#endif

typedef float V __attribute__((vector_size(kLanes * 4)));
typedef int32_t Vi __attribute__((vector_size(kLanes * 4)));
typedef float VUnaligned __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

inline V load(const float* p) { return *reinterpret_cast<const VUnaligned*>(p); }
inline void store(float* p, V v) { *reinterpret_cast<VUnaligned*>(p) = v; }

// Not `V{} + x`: the addition would be kept, because 0 + -0 is not -0.
inline V set1(float x) {
#if defined(__AVX512F__)
  return _mm512_set1_ps(x);
#elif defined(__AVX2__)
  return _mm256_set1_ps(x);
#else
  return V{x, x, x, x};
#endif
}

/// The first n of kLanes values; the others are zero and not read.
inline V load_n(const float* p, Index n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << static_cast<unsigned>(n)) - 1U), p);
#else
  float t[kLanes] = {};
  for (Index i = 0; i < n; ++i) t[i] = p[i];
  return load(t);
#endif
}

inline void store_n(float* p, V v, Index n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << static_cast<unsigned>(n)) - 1U), v);
#else
  float t[kLanes];
  store(t, v);
  for (Index i = 0; i < n; ++i) p[i] = t[i];
#endif
}

// A not-a-number in the second argument passes through, as the reference kernels do.
inline V vmax(V limit, V x) {
#if defined(__AVX512F__)
  return _mm512_max_ps(limit, x);
#elif defined(__AVX2__)
  return _mm256_max_ps(limit, x);
#else
  return limit > x ? limit : x;
#endif
}

inline V vmin(V limit, V x) {
#if defined(__AVX512F__)
  return _mm512_min_ps(limit, x);
#elif defined(__AVX2__)
  return _mm256_min_ps(limit, x);
#else
  return limit < x ? limit : x;
#endif
}

inline V clamp(V x, V lo, V hi) { return vmin(hi, vmax(lo, x)); }

inline V vabs(V x) { return __builtin_bit_cast(V, __builtin_bit_cast(Vi, x) & 0x7fffffff); }

/// |magnitude| with the sign of `sign`; magnitude must not be negative.
inline V copy_sign(V magnitude, V sign) {
  const Vi bit = __builtin_bit_cast(Vi, sign) & INT32_MIN;
  return __builtin_bit_cast(V, __builtin_bit_cast(Vi, magnitude) | bit);
}

/// 1 / x for normal x of normal reciprocal, within 1 ulp or so.
inline V reciprocal(V x) {
#if defined(__AVX512F__)
  const V r = _mm512_rcp14_ps(x);
  return r + r * (1.0F - x * r);
#else
  return 1.0F / x;
#endif
}

// Pairs of lanes are added in a fixed tree, so that the result does not depend on the compiler.
inline float reduce_add(V v) {
  float t[kLanes];
  store(t, v);
  for (Index width = kLanes / 2; width > 0; width /= 2)
    for (Index i = 0; i < width; ++i) t[i] += t[i + width];
  return t[0];
}

inline float reduce_max(V v) {
  float t[kLanes];
  store(t, v);
  float m = t[0];
  for (Index i = 1; i < kLanes; ++i) m = m > t[i] || m != m ? m : t[i];
  return m;
}

}  // namespace ec::kernels::EC_SIMD_NS
