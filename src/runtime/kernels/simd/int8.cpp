// 8-bit integer kernels: exact sums of products and the two roundings of TFLite's requantisation.
//
// Unsigned bytes times signed bytes, four at a time, is what the dot product instruction of newer
// processors computes; without it the even and the odd bytes are widened and multiplied in pairs.
// Everything is exact, so all instruction sets give the same bits.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

#if defined(__AVX512F__)
using Word = __m512i;
#elif defined(__AVX2__)
using Word = __m256i;
#endif

#if defined(__AVX2__)

#if defined(__AVX512F__)
inline Word load_words(const int32_t* p) { return _mm512_loadu_si512(p); }
inline void store_words(int32_t* p, Word v) { _mm512_storeu_si512(p, v); }
inline Word set_word(int32_t x) { return _mm512_set1_epi32(x); }
inline Word add(Word a, Word b) { return _mm512_add_epi32(a, b); }
inline Word sub(Word a, Word b) { return _mm512_sub_epi32(a, b); }
inline Word madd(Word a, Word b) { return _mm512_madd_epi16(a, b); }
inline Word low_bytes(Word v) { return _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8); }
inline Word high_bytes(Word v) { return _mm512_srai_epi16(v, 8); }
inline Word even_bytes(Word v) { return _mm512_and_si512(v, _mm512_set1_epi16(0xFF)); }
inline Word odd_bytes(Word v) { return _mm512_srli_epi16(v, 8); }
inline Word low_halves(Word v) { return _mm512_and_si512(v, _mm512_set1_epi32(0xFFFF)); }
inline Word clamp_words(Word v, Word low, Word high) {
  return _mm512_min_epi32(_mm512_max_epi32(v, low), high);
}
#else
inline Word load_words(const int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store_words(int32_t* p, Word v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
inline Word set_word(int32_t x) { return _mm256_set1_epi32(x); }
inline Word add(Word a, Word b) { return _mm256_add_epi32(a, b); }
inline Word sub(Word a, Word b) { return _mm256_sub_epi32(a, b); }
inline Word madd(Word a, Word b) { return _mm256_madd_epi16(a, b); }
inline Word low_bytes(Word v) { return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8); }
inline Word high_bytes(Word v) { return _mm256_srai_epi16(v, 8); }
inline Word even_bytes(Word v) { return _mm256_and_si256(v, _mm256_set1_epi16(0xFF)); }
inline Word odd_bytes(Word v) { return _mm256_srli_epi16(v, 8); }
inline Word low_halves(Word v) { return _mm256_and_si256(v, _mm256_set1_epi32(0xFFFF)); }
inline Word clamp_words(Word v, Word low, Word high) {
  return _mm256_min_epi32(_mm256_max_epi32(v, low), high);
}
#endif

inline uint32_t four_bytes(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}

// (x * factor + 2^30) >> 31 of each lane, then the rounding right shift.
inline Word scale(Word x, Index at, const Requantize& q) {
  const Word factor = load_words(q.factor + at);
#if defined(__AVX512F__)
  const Word round = _mm512_set1_epi64(int64_t{1} << 30);
  const Word even = _mm512_add_epi64(_mm512_mul_epi32(x, factor), round);
  const Word odd = _mm512_add_epi64(
      _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(factor, 32)), round);
  x = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  const Word sign = _mm512_and_si512(_mm512_srli_epi32(x, 31), load_words(q.tie + at));
  x = sub(add(x, load_words(q.half + at)), sign);
  return _mm512_srav_epi32(x, load_words(q.right + at));
#else
  const Word round = _mm256_set1_epi64x(int64_t{1} << 30);
  const Word even = _mm256_add_epi64(_mm256_mul_epi32(x, factor), round);
  const Word odd = _mm256_add_epi64(
      _mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(factor, 32)), round);
  x = _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
  const Word sign = _mm256_and_si256(_mm256_srli_epi32(x, 31), load_words(q.tie + at));
  x = sub(add(x, load_words(q.half + at)), sign);
  return _mm256_srav_epi32(x, load_words(q.right + at));
#endif
}

// The first n of kLanes results as bytes.
inline void store_bytes(Word v, const Requantize& q, int8_t* y, Index n) {
  v = clamp_words(add(v, set_word(q.zero_point)), set_word(q.low), set_word(q.high));
#if defined(__AVX512F__)
  const auto mask =
      static_cast<__mmask16>(n >= kLanes ? 0xFFFFU : (1U << static_cast<unsigned>(n)) - 1U);
  _mm512_mask_cvtepi32_storeu_epi8(y, mask, v);
#else
  if (n >= kLanes) {
    const Word bytes = _mm256_packs_epi16(_mm256_packs_epi32(v, v), v);
    _mm_storel_epi64(
        reinterpret_cast<__m128i*>(y),
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
    return;
  }
  int32_t words[kLanes];
  store_words(words, v);
  for (Index i = 0; i < n; ++i) y[i] = static_cast<int8_t>(words[i]);
#endif
}

void requantize(const int32_t* sums, int64_t first, int64_t n, const Requantize& q, int8_t* y) {
  for (Index i = 0; i < n; i += kLanes) {
    const Word x = add(load_words(sums + i), load_words(q.bias + first + i));
    store_bytes(scale(x, first + i, q), q, y + i, n - i);
  }
}

// Bytes 0 and 2, then 1 and 3, of every word, multiplied as 16-bit integers.
template <int M>
void tile_pairs(const Int8TileArgs& t) {
  for (Index j = 0; j * kLanes < t.columns; ++j) {
    Word acc[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) acc[i] = set_word(0);
    const int8_t* b = t.b + j * kLanes * 4;
    for (Index tap = 0; tap < t.taps; ++tap) {
      const uint8_t* const* a = t.a + tap * M;
      for (Index g = 0; g < t.groups; ++g, b += kInt8Panel * 4) {
        const Word w = load_words(reinterpret_cast<const int32_t*>(b));
        const Word even = low_bytes(w), odd = high_bytes(w);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) {
          const Word x = set_word(static_cast<int32_t>(four_bytes(a[i] + g * 4)));
          acc[i] = add(acc[i], add(madd(even_bytes(x), even), madd(odd_bytes(x), odd)));
        }
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) store_words(t.sums + i * kInt8Panel + j * kLanes, acc[i]);
  }
}

#if defined(__AVX512F__)
// The dot product instruction, where the processor has it; asked at run time.
template <int M>
__attribute__((target("avx512vnni,avx512bw,avx512f,avx512vl,avx512dq"))) void tile_dot(
    const Int8TileArgs& t) {
  Word acc[M][2];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) acc[i][0] = acc[i][1] = _mm512_setzero_si512();
  const int8_t* b = t.b;
  for (Index tap = 0; tap < t.taps; ++tap) {
    const uint8_t* a[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) a[i] = t.a[tap * M + i];
    for (Index g = 0; g < t.groups; ++g, b += kInt8Panel * 4) {
      const Word w0 = _mm512_loadu_si512(b), w1 = _mm512_loadu_si512(b + 64);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const Word x = _mm512_set1_epi32(static_cast<int32_t>(four_bytes(a[i] + g * 4)));
        acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], x, w0);
        acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], x, w1);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    _mm512_storeu_si512(t.sums + i * kInt8Panel, acc[i][0]);
    _mm512_storeu_si512(t.sums + i * kInt8Panel + kLanes, acc[i][1]);
  }
}
#endif

using TileFn = void (*)(const Int8TileArgs&);

struct Pairs {
  template <int M>
  static constexpr TileFn kTile = tile_pairs<M>;
};
template <class Kind, int M>
void call_tile(const Int8TileArgs& t) {
  if (t.rows == M) return Kind::template kTile<M>(t);
  if constexpr (M > 1) call_tile<Kind, M - 1>(t);
}

// Sign-extended bytes, one per lane.
inline Word widen(const int8_t* p, Index n) {
#if defined(__AVX512F__)
  const auto mask =
      static_cast<__mmask16>(n >= kLanes ? 0xFFFFU : (1U << static_cast<unsigned>(n)) - 1U);
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, p));
#else
  if (n >= kLanes)
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  int64_t bytes = 0;
  __builtin_memcpy(&bytes, p, static_cast<size_t>(n));
  return _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(bytes));
#endif
}

void depthwise(const Int8DepthwiseArgs& d, const Requantize& q) {
  for (Index c = 0; c < d.channels; c += kLanes) {
    const Index left = d.channels - c;
    Word acc = load_words(q.bias + c);
    const int32_t* w = d.weights + c;
    for (Index t = 0; t < d.tap_count; ++t, w += d.ld_weights)
      acc = add(acc, madd(widen(d.taps[t] + c, left), load_words(w)));
    store_bytes(scale(acc, c, q), q, d.y + c, left);
  }
}

inline Word look_up(const int32_t* table, const int8_t* p, Index n) {
  const Word index = sub(widen(p, n), set_word(-128));
#if defined(__AVX512F__)
  return _mm512_i32gather_epi32(index, table, 4);
#else
  return _mm256_i32gather_epi32(table, index, 4);
#endif
}

void add_bytes(const Int8AddArgs& t, const Requantize& q) {
  for (Index i = 0; i < t.n; i += kLanes) {
    const Index left = t.n - i;
    const Word b =
        t.step_b == 0 ? set_word(t.table_b[*t.b + 128]) : look_up(t.table_b, t.b + i, left);
    store_bytes(scale(add(look_up(t.table_a, t.a + i, left), b), 0, q), q, t.y + i, left);
  }
}

void mul_bytes(const Int8MulArgs& t, const Requantize& q) {
  const Word zero_a = set_word(t.zero_a), zero_b = set_word(t.zero_b);
  for (Index i = 0; i < t.n; i += kLanes) {
    const Index left = t.n - i;
    const Word a = sub(widen(t.a + i, left), zero_a);
    const Word b = sub(t.step_b == 0 ? set_word(*t.b) : widen(t.b + i, left), zero_b);
    // Both fit in the low halves; the high half of one is cleared, so that it adds nothing.
    store_bytes(scale(madd(a, low_halves(b)), 0, q), q, t.y + i, left);
  }
}

#else  // plain C++

inline int32_t scale_one(int32_t x, Index at, const Requantize& q) {
  const int64_t product = static_cast<int64_t>(x) * q.factor[at] + (int64_t{1} << 30);
  const auto high = static_cast<int32_t>(product >> 31);
  return (high + q.half[at] - (high < 0 ? q.tie[at] : 0)) >> q.right[at];
}

inline int8_t finish_one(int32_t v, const Requantize& q) {
  v += q.zero_point;
  return static_cast<int8_t>(v < q.low ? q.low : v > q.high ? q.high : v);
}

void requantize(const int32_t* sums, int64_t first, int64_t n, const Requantize& q, int8_t* y) {
  for (Index i = 0; i < n; ++i)
    y[i] = finish_one(scale_one(sums[i] + q.bias[first + i], first + i, q), q);
}

void tile(const Int8TileArgs& t) {
  for (Index i = 0; i < t.rows; ++i)
    for (Index j = 0; j < t.columns; ++j) {
      int32_t sum = 0;
      const int8_t* b = t.b + j * 4;
      for (Index tap = 0; tap < t.taps; ++tap) {
        const uint8_t* a = t.a[tap * t.rows + i];
        for (Index g = 0; g < t.groups; ++g, b += kInt8Panel * 4)
          for (Index k = 0; k < 4; ++k) sum += a[g * 4 + k] * b[k];
      }
      t.sums[i * kInt8Panel + j] = sum;
    }
}

void depthwise(const Int8DepthwiseArgs& d, const Requantize& q) {
  for (Index c = 0; c < d.channels; ++c) {
    int32_t sum = q.bias[c];
    for (Index t = 0; t < d.tap_count; ++t)
      sum += d.taps[t][c] * static_cast<int16_t>(d.weights[t * d.ld_weights + c]);
    d.y[c] = finish_one(scale_one(sum, c, q), q);
  }
}

void add_bytes(const Int8AddArgs& t, const Requantize& q) {
  for (Index i = 0; i < t.n; ++i) {
    const int32_t sum = t.table_a[t.a[i] + 128] + t.table_b[t.b[i * t.step_b] + 128];
    t.y[i] = finish_one(scale_one(sum, 0, q), q);
  }
}

void mul_bytes(const Int8MulArgs& t, const Requantize& q) {
  for (Index i = 0; i < t.n; ++i) {
    const int32_t product = (t.a[i] - t.zero_a) * (t.b[i * t.step_b] - t.zero_b);
    t.y[i] = finish_one(scale_one(product, 0, q), q);
  }
}

#endif

}  // namespace

void fill_int8(KernelTable& table) {
#if defined(__AVX2__)
  table.int8_tile = call_tile<Pairs, kInt8Rows>;
#else
  table.int8_tile = tile;
#endif
#if defined(__AVX512F__)
  struct Dot {
    static void run(const Int8TileArgs& t) {
      static constexpr TileFn kTiles[] = {tile_dot<1>, tile_dot<2>,  tile_dot<3>,  tile_dot<4>,
                                          tile_dot<5>, tile_dot<6>,  tile_dot<7>,  tile_dot<8>,
                                          tile_dot<9>, tile_dot<10>, tile_dot<11>, tile_dot<12>};
      kTiles[t.rows - 1](t);
    }
  };
  if (__builtin_cpu_supports("avx512vnni")) table.int8_tile = Dot::run;
#endif
  table.int8_requantize = requantize;
  table.int8_depthwise = depthwise;
  table.int8_add = add_bytes;
  table.int8_mul = mul_bytes;
}

}  // namespace ec::kernels::EC_SIMD_NS
