// Transposition of a matrix of 32-bit values in register-sized blocks.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

#if defined(__AVX2__)
constexpr Index kBlock = 8;

inline void block(const float* from, Index ld_from, float* to, Index ld_to) {
  __m256 r[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * ld_from);
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * ld_to, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * ld_to, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
#else
constexpr Index kBlock = 4;

inline void block(const float* from, Index ld_from, float* to, Index ld_to) {
  const V r0 = load(from);
  const V r1 = load(from + ld_from);
  const V r2 = load(from + 2 * ld_from);
  const V r3 = load(from + 3 * ld_from);
  const V t0 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const V t1 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const V t2 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const V t3 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(t0, t2, 0, 1, 4, 5));
  store(to + ld_to, __builtin_shufflevector(t0, t2, 2, 3, 6, 7));
  store(to + 2 * ld_to, __builtin_shufflevector(t1, t3, 0, 1, 4, 5));
  store(to + 3 * ld_to, __builtin_shufflevector(t1, t3, 2, 3, 6, 7));
}
#endif

void transpose(const float* from, Index ld_from, float* to, Index ld_to, Index rows,
               Index columns) {
  const Index full_rows = rows / kBlock * kBlock;
  const Index full_columns = columns / kBlock * kBlock;
  // Down the rows first: consecutive blocks then write neighbouring memory.
  for (Index j = 0; j < full_columns; j += kBlock)
    for (Index i = 0; i < full_rows; i += kBlock)
      block(from + i * ld_from + j, ld_from, to + j * ld_to + i, ld_to);
  for (Index i = full_rows; i < rows; ++i)
    for (Index j = 0; j < full_columns; ++j) to[j * ld_to + i] = from[i * ld_from + j];
  for (Index i = 0; i < rows; ++i)
    for (Index j = full_columns; j < columns; ++j) to[j * ld_to + i] = from[i * ld_from + j];
}

}  // namespace

void fill_transpose(KernelTable& table) { table.transpose = transpose; }

}  // namespace ec::kernels::EC_SIMD_NS
