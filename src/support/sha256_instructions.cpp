#include "support/sha256_blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <bit>

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

// --- without them: four words of the message at a time, and rotations that keep their operand
// -----

bool has_vectors() {
  static const bool kHas =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
  return kHas;
}

#define EC_VECTORS __attribute__((target("avx2,bmi2")))
#define EC_INLINE __attribute__((target("avx2,bmi2"), always_inline)) inline

EC_INLINE void add_round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f,
                         uint32_t g, uint32_t& h, uint32_t word) {
  h += (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + word;
  d += h;
  h += (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
}

// The variables change places by their names alone: after eight rounds they are where they were.
EC_INLINE void add_eight_rounds(State& s, const uint32_t* words) {
#pragma GCC unroll 8
  for (size_t i = 0; i < 8; ++i)
    add_round(s[(8 - i) % 8], s[(9 - i) % 8], s[(10 - i) % 8], s[(11 - i) % 8], s[(12 - i) % 8],
              s[(13 - i) % 8], s[(14 - i) % 8], s[(15 - i) % 8], words[i]);
}

template <int kBits>
EC_INLINE __m128i rotated(__m128i x) {
  return _mm_or_si128(_mm_srli_epi32(x, kBits), _mm_slli_epi32(x, 32 - kBits));
}

// Sigma 1 of two words, each of which stands there twice: a shift of the pair is a rotation. The
// results are words 0 and 2.
EC_INLINE __m128i sigma1(__m128i twice) {
  return _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(twice, 17), _mm_srli_epi64(twice, 19)),
                       _mm_srli_epi32(twice, 10));
}

// The four words after those of w[i], w[i + 1], w[i + 2], w[i + 3], each index modulo 4.
EC_INLINE __m128i next_words(const __m128i (&w)[4], int i) {
  const __m128i last = w[(i + 3) % 4];
  const __m128i w15 = _mm_alignr_epi8(w[(i + 1) % 4], w[i % 4], 4);
  const __m128i w7 = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
  const __m128i sigma0 =
      _mm_xor_si128(_mm_xor_si128(rotated<7>(w15), rotated<18>(w15)), _mm_srli_epi32(w15, 3));
  __m128i next = _mm_add_epi32(_mm_add_epi32(w[i % 4], sigma0), w7);
  // The last two of the four need the first two.
  const __m128i low = _mm_setr_epi8(0, 1, 2, 3, 8, 9, 10, 11, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i high = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 8, 9, 10, 11);
  next = _mm_add_epi32(next, _mm_shuffle_epi8(sigma1(_mm_shuffle_epi32(last, 0xfa)), low));
  return _mm_add_epi32(next, _mm_shuffle_epi8(sigma1(_mm_shuffle_epi32(next, 0x50)), high));
}

EC_VECTORS void add_all_by_vectors(State& state, const uint8_t* data, size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto* round = reinterpret_cast<const __m128i*>(kRound.data());
  for (; count > 0; --count, data += kBlock) {
    alignas(16) uint32_t words[64];
    auto* sums = reinterpret_cast<__m128i*>(words);
    __m128i w[4];
    State s = state;
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      w[i % 4] = i >= 4 ? next_words(w, i)
                        : _mm_shuffle_epi8(
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i), swap);
      _mm_store_si128(sums + i, _mm_add_epi32(w[i % 4], _mm_loadu_si128(round + i)));
      // Rounds beside the words of later ones: the processor does both at once.
      if (i >= 5 && i % 2 == 1) add_eight_rounds(s, words + 4 * (i - 5));
    }
    add_eight_rounds(s, words + 48);
    add_eight_rounds(s, words + 56);
    for (size_t i = 0; i < 8; ++i) state[i] += s[i];
  }
}

#undef EC_VECTORS
#undef EC_INLINE

}  // namespace

bool add_blocks_by_instructions(State& state, const uint8_t* data, size_t count) {
  if (!has_instructions()) return false;
  add_all(state, data, count);
  return true;
}

bool add_blocks_by_vectors(State& state, const uint8_t* data, size_t count) {
  if (!has_vectors()) return false;
  add_all_by_vectors(state, data, count);
  return true;
}

}  // namespace ec::sha256

#else

namespace ec::sha256 {
bool add_blocks_by_instructions(State&, const uint8_t*, size_t) { return false; }
bool add_blocks_by_vectors(State&, const uint8_t*, size_t) { return false; }
}  // namespace ec::sha256

#endif
