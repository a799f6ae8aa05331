#include "formats/zip/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ec::zip {
namespace {

uint32_t by_table(uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__)

constexpr size_t kLane = 16, kStep = 4 * kLane;
// Shorter runs gain nothing.
constexpr size_t kShortest = 2 * kStep;

bool has_instructions() {
  static const bool kHas = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_PCLMUL) != 0 && (c & bit_SSE4_1) != 0;
  }();
  return kHas;
}

// Powers of x modulo the polynomial, bits in reverse, from V. Gopal and others, "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), where they are k1
// to k5, P and mu: two 64-bit halves move forward by four lanes, by one lane, and to the end.
#define EC_PAIR(low, high) _mm_set_epi64x(high, low)

__attribute__((target("pclmul,sse4.1"))) __m128i moved(__m128i lane, __m128i by) {
  return _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11));
}

// The remainder of one lane: `state` before the final inversion.
__attribute__((target("pclmul,sse4.1"))) uint32_t reduced(__m128i lane) {
  const __m128i by_lane = EC_PAIR(0x1751997d0, 0x0ccaa009e);
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
  // 128 bits to 96, to 64, and Barrett's reduction to 32.
  lane = _mm_xor_si128(_mm_srli_si128(lane, 8), _mm_clmulepi64_si128(lane, by_lane, 0x10));
  lane = _mm_xor_si128(
      _mm_srli_si128(lane, 4),
      _mm_clmulepi64_si128(_mm_and_si128(lane, low_words), EC_PAIR(0x163cd6124, 0), 0x00));
  const __m128i reduce = EC_PAIR(0x1db710641, 0x1f7011641);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(lane, low_words), reduce, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), reduce, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(lane, quotient), 1));
}

// Requires a multiple of kLane bytes, at least kStep.
__attribute__((target("pclmul,sse4.1"))) uint32_t by_lanes(uint32_t before, const std::byte* data,
                                                           size_t size) {
  const auto* in = reinterpret_cast<const __m128i*>(data);
  const auto* end = in + size / kLane;
  __m128i lanes[4];
  for (__m128i& lane : lanes) lane = _mm_loadu_si128(in++);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
  const __m128i by_step = EC_PAIR(0x154442bd4, 0x1c6e41596);
  for (; end - in >= 4; in += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      lanes[i] = _mm_xor_si128(moved(lanes[i], by_step), _mm_loadu_si128(in + i));
  }
  const __m128i by_lane = EC_PAIR(0x1751997d0, 0x0ccaa009e);
  __m128i all = lanes[0];
  for (int i = 1; i < 4; ++i) all = _mm_xor_si128(moved(all, by_lane), lanes[i]);
  for (; in < end; ++in) all = _mm_xor_si128(moved(all, by_lane), _mm_loadu_si128(in));
  return ~reduced(all);
}

#undef EC_PAIR

#else

constexpr size_t kLane = 1, kShortest = 0;
constexpr bool has_instructions() { return false; }
uint32_t by_lanes(uint32_t before, const std::byte*, size_t) { return before; }

#endif

}  // namespace

uint32_t crc32(uint32_t before, std::span<const std::byte> bytes) {
  if (!has_instructions() || bytes.size() < kShortest) return by_table(before, bytes);
  const size_t whole = bytes.size() / kLane * kLane;
  return by_table(by_lanes(before, bytes.data(), whole), bytes.subspan(whole));
}

}  // namespace ec::zip
