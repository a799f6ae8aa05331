#include "support/sha256_blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace ec::sha256 {
namespace {

bool has_instructions() {
  static const bool kHas = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("sse4.1") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
           (b & bit_SHA) != 0;
  }();
  return kHas;
}

// The instructions take the state as (a, b, e, f) and (c, d, g, h), four words of the message and
// four constants at a time, two rounds each.
__attribute__((target("sha,sse4.1,ssse3"))) void add_all(State& state, const uint8_t* data,
                                                         size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; count > 0; --count, data += kBlock) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    const auto* block = reinterpret_cast<const __m128i*>(data);
    __m128i w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(_mm_loadu_si128(block + i), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i round =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRound.data() + 4 * i));
      const __m128i sum = _mm_add_epi32(w[i % 4], round);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i >= 12) continue;
      // The words that the round after the next three takes.
      const __m128i last = w[(i + 3) % 4];
      const __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
                                         _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
      w[i % 4] = _mm_sha256msg2_epu32(next, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace

bool add_blocks_by_instructions(State& state, const uint8_t* data, size_t count) {
  if (!has_instructions()) return false;
  add_all(state, data, count);
  return true;
}

}  // namespace ec::sha256

#else

namespace ec::sha256 {
bool add_blocks_by_instructions(State&, const uint8_t*, size_t) { return false; }
}  // namespace ec::sha256

#endif
