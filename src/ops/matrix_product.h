// The one matrix product behind the reference kernels of matmul, gemm, einsum, attention and the
// recurrent ops. Floats accumulate in double; integers wrap, as in two's complement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "support/budget.h"

namespace ec {

template <class C>
using Accumulator = std::conditional_t<std::is_floating_point_v<C>, double, uint64_t>;

// A matrix in memory with any strides (in elements).
template <class C>
struct MatrixRef {
  const C* data = nullptr;
  int64_t row_stride = 0, column_stride = 1;

  static MatrixRef row_major(const C* data, int64_t columns) { return {data, columns, 1}; }
  MatrixRef transposed() const { return {data, column_stride, row_stride}; }
  const C& at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

// Columns that stay in cache over all rows; packed blocks always have this many.
inline constexpr int64_t kProductBlock = 64;
// The same for matrices of few columns, which would else be computed mostly for nothing.
inline constexpr int64_t kNarrowBlock = 8;

// a [rows, depth] times a packed block [depth, kBlock] of which the first `count` columns are asked
// for. Calls emit(row, sums).
template <int64_t kBlock = kProductBlock, class C, class Emit>
void multiply_block(int64_t rows, int64_t depth, const MatrixRef<C>& a, const C* packed,
                    int64_t count, Emit&& emit) {
  using A = Accumulator<C>;
  A sums[kBlock];
  Ticker ticker;
  for (int64_t row = 0; row < rows; ++row) {
    if (ticker.tick(depth * kBlock)) return;
    std::fill(std::begin(sums), std::end(sums), A{});
    const C* line = packed;
    for (int64_t k = 0; k < depth; ++k, line += kBlock) {
      const A factor = static_cast<A>(a.at(row, k));
      for (int64_t j = 0; j < kBlock; ++j) sums[j] += factor * static_cast<A>(line[j]);
    }
    emit(row, std::span<const A>(sums, static_cast<size_t>(count)));
  }
}

template <int64_t kBlock, class C, class Emit>
void multiply_by_blocks(int64_t rows, int64_t columns, int64_t depth, const MatrixRef<C>& a,
                        const MatrixRef<C>& b, Emit&& emit) {
  std::vector<C> packed(static_cast<size_t>(depth * kBlock));
  Ticker ticker;
  for (int64_t first = 0; first < columns; first += kBlock) {
    if (ticker.tick(depth * kBlock)) return;
    const int64_t count = std::min(kBlock, columns - first);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < count; ++j)
        packed[static_cast<size_t>(k * kBlock + j)] = b.at(k, first + j);
    multiply_block<kBlock>(
        rows, depth, a, packed.data(), count,
        [&](int64_t row, std::span<const Accumulator<C>> sums) { emit(row, first, sums); });
  }
}

// a [rows, depth] times b [depth, columns]. Calls emit(row, first_column, sums) for pieces of rows
// of the product, each element in exactly one piece.
template <class C, class Emit>
void multiply(int64_t rows, int64_t columns, int64_t depth, const MatrixRef<C>& a,
              const MatrixRef<C>& b, Emit&& emit) {
  if (rows <= 0 || columns <= 0) return;
  if (columns <= kNarrowBlock)
    multiply_by_blocks<kNarrowBlock>(rows, columns, depth, a, b, emit);
  else
    multiply_by_blocks<kProductBlock>(rows, columns, depth, a, b, emit);
}

}  // namespace ec
