// The matrix multiplication tile: rows x (vectors * lanes) results kept in registers over the whole
// K.
//
// Per step of K it loads one panel row of B and broadcasts one value of each A row. The tile
// heights were chosen by measurement (docs/adr/0006-cpu-kernels.md): 14 x 2 vectors for 32 wide
// registers, 6 x 2 for 16.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
constexpr int kVectors = 2;
#elif defined(__AVX2__)
constexpr int kRows = 6;
constexpr int kVectors = 2;
#elif defined(__aarch64__)
constexpr int kRows = 8;
constexpr int kVectors = 2;
#else
constexpr int kRows = 4;
constexpr int kVectors = 2;
#endif

// What earlier blocks of K left, or the bias. It comes on top of the sums of this block, which
// begin at zero: sums of few terms lose less to rounding than one sum of all.
template <int M, int N>
inline void add_start(V (&acc)[M][N], const GemmTileArgs& t) {
  if (t.accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        const Index left = t.n - j * kLanes;
        const float* c = t.c + i * t.ldc + j * kLanes;
        acc[i][j] += left >= kLanes ? load(c) : (left > 0 ? load_n(c, left) : V{});
      }
    }
    return;
  }
  if (t.bias == nullptr) return;
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    const V b = load(t.bias + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) acc[i][j] += b;
  }
}

template <int M, int N>
inline void finish(V (&acc)[M][N], const GemmTileArgs& t) {
  const V lo = set1(t.lo);
  const V hi = set1(t.hi);
  if (t.residual != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        const Index left = t.n - j * kLanes;
        const float* r = t.residual + i * t.ld_residual + j * kLanes;
        if (left >= kLanes) {
          acc[i][j] += load(r);
        } else if (left > 0) {
          acc[i][j] += load_n(r, left);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) acc[i][j] = clamp(acc[i][j], lo, hi);
}

template <int M, int N>
inline void put(const V (&acc)[M][N], const GemmTileArgs& t) {
  if (t.n == N * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) store(t.c + i * t.ldc + j * kLanes, acc[i][j]);
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const Index left = t.n - j * kLanes;
      float* c = t.c + i * t.ldc + j * kLanes;
      if (left >= kLanes) {
        store(c, acc[i][j]);
      } else if (left > 0) {
        store_n(c, acc[i][j], left);
      }
    }
  }
}

template <int M, int N>
void tile(const GemmTileArgs& t) {
  // A low tile has too few sums in flight to hide the latency of multiply-add: give it several sets
  // of them.
  constexpr int kSets = M * N <= 2 ? 4 : (M * N <= 4 ? 2 : 1);
  V acc[M][N] = {};
  V more[kSets][M][N] = {};
  const float* b = t.b;
  const std::byte* ahead = t.prefetch;
  for (Index tap = 0; tap < t.taps; ++tap) {
    const float* a[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) a[i] = t.a[tap * M + i] + t.a_offset;
    Index k = 0;
    if constexpr (kSets > 1) {
      for (; k + kSets <= t.k; k += kSets) {
#pragma GCC unroll 4
        for (int s = 0; s < kSets; ++s) {
#pragma GCC unroll 4
          for (int j = 0; j < N; ++j) {
            const V bv = load(b + s * t.ldb + j * kLanes);
#pragma GCC unroll 16
            for (int i = 0; i < M; ++i) more[s][i][j] += bv * a[i][k + s];
          }
        }
        b += kSets * t.ldb;
      }
    }
    for (; k < t.k; ++k) {
      V bv[N];
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) bv[j] = load(b + j * kLanes);
      b += t.ldb;
      __builtin_prefetch(ahead, 0, 2);
      ahead += t.prefetch_step;
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const float av = a[i][k];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) acc[i][j] += bv[j] * av;
      }
    }
  }
  if constexpr (kSets > 1) {
#pragma GCC unroll 4
    for (int s = 0; s < kSets; ++s)
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) acc[i][j] += more[s][i][j];
  }
  add_start<M, N>(acc, t);
  if (t.finish) finish<M, N>(acc, t);
  put<M, N>(acc, t);
}

template <int M>
void fill_tiles(KernelTable& table) {
  table.gemm[M - 1][0] = tile<M, 1>;
  table.gemm[M - 1][1] = tile<M, kVectors>;
  if constexpr (M > 1) fill_tiles<M - 1>(table);
}

}  // namespace

void fill_gemm(KernelTable& table) {
  table.lanes = kLanes;
  table.tile_rows = kRows;
  table.tile_vectors = kVectors;
  fill_tiles<kRows>(table);
}

}  // namespace ec::kernels::EC_SIMD_NS
