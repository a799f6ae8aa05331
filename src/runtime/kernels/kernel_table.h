// The instruction-set specific innermost loops, one table per set.
//
// The files in simd/ are compiled once per instruction set, each time into its own namespace, and
// fill one of these tables. Everything above (blocking, packing, threading) is ordinary code that
// calls through the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/isa.h"

namespace ec::kernels {

enum class UnaryOp : uint8_t {
  Identity,
  Clamp,        // min(max(x, alpha), beta)
  LeakyRelu,    // x < 0 ? alpha * x : x
  Elu,          // x < 0 ? alpha * (exp(x) - 1) : x
  HardSigmoid,  // clamp(alpha * x + beta, 0, 1)
  HardSwish,    // x * clamp(x / 6 + 0.5, 0, 1)
  Sigmoid,
  Silu,  // x * sigmoid(x)
  Tanh,
  Exp,
  Log,
  Erf,
  Gelu,      // 0.5 * x * (1 + erf(x / sqrt 2))
  GeluTanh,  // the tanh form
  Softplus,
  Mish,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Neg,
  Abs,
  Square,
  Floor,
  Ceil,
  Affine,  // alpha * x + beta
  kCount
};

enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, Min, Max, kCount };

/// What is done to each result before it is stored.
struct Epilogue {
  UnaryOp op = UnaryOp::Identity;
  float alpha = 0.0F;
  float beta = 0.0F;
};

/// One tile of C = A x B. A is given by row pointers so that the same loop serves plain matrices
/// and convolutions: `a` holds `taps` groups of `rows` pointers, each to `k` consecutive values.
struct GemmTileArgs {
  const float* const* a = nullptr;
  int64_t a_offset = 0;  // added to every row pointer
  int64_t taps = 1;
  int64_t k = 0;
  const float* b = nullptr;  // taps * k rows of (vectors * lanes) values, ldb apart
  int64_t ldb = 0;
  const float* bias = nullptr;  // one value per column of the panel, or null
  float* c = nullptr;
  int64_t ldc = 0;
  const float* residual = nullptr;  // added before the clamp; null for none
  int64_t ld_residual = 0;
  int64_t n = 0;            // columns to store, at most vectors * lanes
  bool accumulate = false;  // start from C instead of bias (second and later blocks of a long K)
  bool finish = true;       // add residual and clamp (last block)
  float lo = 0.0F;
  float hi = 0.0F;
  // Memory wanted soon (the next panel), touched step by step while this tile is computed. The
  // processor's own prefetcher starts too late at a new panel; this is worth a quarter of the time
  // when B comes from the last-level cache.
  const std::byte* prefetch = nullptr;
  int64_t prefetch_step = 0;  // bytes per step of K
};
using GemmTileFn = void (*)(const GemmTileArgs&);

/// One output row of a depthwise convolution. `rows` holds the input rows the window covers,
/// clipped to the image; `weights` the kernel rows that go with them, each kernel_w x channels.
struct DepthwiseRowArgs {
  const float* const* rows = nullptr;
  const float* const* weights = nullptr;
  int64_t row_count = 0;
  const float* bias = nullptr;
  float* y = nullptr;
  int64_t channels = 0;
  int64_t in_ld = 0;   // values between two input pixels
  int64_t out_ld = 0;  // values between two output pixels
  int64_t in_w = 0;
  int64_t out_w = 0;
  int64_t kernel_w = 0;
  int64_t stride_w = 1;
  int64_t dilation_w = 1;
  int64_t pad_left = 0;
  float lo = 0.0F;
  float hi = 0.0F;
};

struct NormArgs {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t n = 0;
  const float* scale = nullptr;  // n values or null
  const float* bias = nullptr;   // n values or null
  float epsilon = 0.0F;
  bool centre = true;  // false: root-mean-square normalisation
  int64_t rows = 1;    // one behind the other
};

/// How 32-bit sums become stored 8-bit results, per column: (sum + bias) times a fixed point factor
/// with two roundings, plus the zero point, clamped. Arrays are padded to whole panels.
struct Requantize {
  const int32_t* bias = nullptr;
  const int32_t* factor = nullptr;
  const int32_t* right = nullptr;  // right shift
  const int32_t* half = nullptr;   // 2^(right - 1), or 0
  const int32_t* tie = nullptr;    // 1 where right > 0
  int32_t zero_point = 0;
  int32_t low = -128;
  int32_t high = 127;
};

/// Columns of a panel of 8-bit weights: [taps * groups][kInt8Panel][4].
inline constexpr int64_t kInt8Panel = 32;
inline constexpr int64_t kInt8Rows = 12;

/// Rows of unsigned bytes times a panel of signed ones; sums[row][kInt8Panel].
struct Int8TileArgs {
  const uint8_t* const* a = nullptr;  // [taps][rows]
  int64_t rows = 0;                   // at most kInt8Rows
  int64_t taps = 1;
  int64_t groups = 0;  // of four bytes, per tap
  const int8_t* b = nullptr;
  int32_t* sums = nullptr;
  int64_t columns = kInt8Panel;  // of the panel that are wanted; the others may be left out
};

/// One output pixel of a depthwise convolution on signed bytes.
struct Int8DepthwiseArgs {
  const int8_t* const* taps = nullptr;  // the pixel under each tap
  int64_t tap_count = 0;
  const int32_t* weights = nullptr;  // [tap][ld_weights], the weight in the low half
  int64_t ld_weights = 0;
  int64_t channels = 0;
  int8_t* y = nullptr;
};

/// y = requantised table_a[a] + table_b[b], tables by the unsigned byte.
struct Int8AddArgs {
  const int8_t* a = nullptr;
  const int8_t* b = nullptr;
  int64_t step_b = 1;  // 0: b is one value
  const int32_t* table_a = nullptr;
  const int32_t* table_b = nullptr;
  int8_t* y = nullptr;
  int64_t n = 0;
};

/// y = requantised (a - zero_a) * (b - zero_b).
struct Int8MulArgs {
  const int8_t* a = nullptr;
  const int8_t* b = nullptr;
  int64_t step_b = 1;  // 0: b is one value
  int32_t zero_a = 0;
  int32_t zero_b = 0;
  int8_t* y = nullptr;
  int64_t n = 0;
};

/// y = x / scale rounded, plus the zero point, within [low, high].
struct QuantizeArgs {
  const float* x = nullptr;
  void* y = nullptr;
  int64_t n = 0;
  float scale = 1.0F;
  float zero_point = 0.0F;
  float low = 0.0F;
  float high = 0.0F;
  bool half_away = false;  // ties: away from zero, or to the even number
};
/// y = (x - zero point) * scale.
struct DequantizeArgs {
  const void* x = nullptr;
  float* y = nullptr;
  int64_t n = 0;
  float scale = 1.0F;
  float zero_point = 0.0F;
};

using UnaryFn = void (*)(const float* x, float* y, int64_t n, float alpha, float beta);
using BinaryFn = void (*)(const float* a, const float* b, float* y, int64_t n);

struct BinaryFns {
  BinaryFn vv = nullptr;  // both vectors
  BinaryFn vs = nullptr;  // b is one value
  BinaryFn sv = nullptr;  // a is one value
};

inline constexpr size_t kMaxTileRows = 16;

// Plain arrays: std::array's accessors are inline functions, and the copy kept by the linker could
// be one built for a processor newer than the one at hand.
struct KernelTable {
  Isa isa = Isa::Generic;
  int64_t lanes = 4;
  int64_t tile_rows = 4;     // rows of the largest tile
  int64_t tile_vectors = 2;  // vectors of a full panel; the other panel width is one vector
  GemmTileFn gemm[kMaxTileRows][2] = {};  // [rows - 1][full panel]
  void (*depthwise_row)(const DepthwiseRowArgs&) = nullptr;
  UnaryFn unary[static_cast<size_t>(UnaryOp::kCount)] = {};
  BinaryFns binary[static_cast<size_t>(BinaryOp::kCount)] = {};
  void (*softmax_row)(const float* x, float* y, int64_t n, bool logarithm) = nullptr;
  void (*norm_rows)(const NormArgs&) = nullptr;
  float (*sum)(const float* x, int64_t n) = nullptr;
  float (*max)(const float* x, int64_t n) = nullptr;
  /// to(j, i) = from(i, j) for i < rows, j < columns.
  void (*transpose)(const float* from, int64_t ld_from, float* to, int64_t ld_to, int64_t rows,
                    int64_t columns) = nullptr;
  /// y[c] = max / scaled sum over the `count` pointed-to vectors of n values.
  void (*gather_max)(const float* const* in, int64_t count, float* y, int64_t n) = nullptr;
  void (*gather_max_i8)(const int8_t* const* in, int64_t count, int8_t* y, int64_t n) = nullptr;
  void (*gather_max_u8)(const uint8_t* const* in, int64_t count, uint8_t* y, int64_t n) = nullptr;
  void (*gather_sum)(const float* const* in, int64_t count, float* y, int64_t n,
                     float scale) = nullptr;
  /// y[c] = sum of weights[i] * in[i][c].
  void (*gather_weighted)(const float* const* in, const float* weights, int64_t count, float* y,
                          int64_t n) = nullptr;

  void (*int8_tile)(const Int8TileArgs&) = nullptr;
  void (*int8_requantize)(const int32_t* sums, int64_t first, int64_t n, const Requantize& q,
                          int8_t* y) = nullptr;
  void (*int8_depthwise)(const Int8DepthwiseArgs&, const Requantize& q) = nullptr;
  void (*int8_add)(const Int8AddArgs&, const Requantize& q) = nullptr;
  void (*int8_mul)(const Int8MulArgs&, const Requantize& q) = nullptr;

  void (*quantize_i8)(const QuantizeArgs&) = nullptr;
  void (*quantize_u8)(const QuantizeArgs&) = nullptr;
  void (*quantize_i16)(const QuantizeArgs&) = nullptr;
  void (*dequantize_i8)(const DequantizeArgs&) = nullptr;
  void (*dequantize_u8)(const DequantizeArgs&) = nullptr;
  void (*dequantize_i16)(const DequantizeArgs&) = nullptr;

  int64_t panel() const { return lanes * tile_vectors; }
};

/// The table of `isa`; `isa` must be available (isa_available).
const KernelTable& kernel_table(Isa isa);

}  // namespace ec::kernels
