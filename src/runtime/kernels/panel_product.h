// The blocked matrix product under GEMM and convolution: C = act(A x B + bias + residual).
//
// B is cut into panels of one or two vectors of columns and, for long K, into blocks of K, so that
// a panel stays in cache while the tiles of a block of rows pass over it. A is never copied: a
// caller supplies row pointers. Which rows form a tile, and where K is cut, depends on the shape
// only; so the result does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/aligned_buffer.h"
#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::kernels {

/// How K = taps * k is cut into blocks of at most kMaxBlockK (or one tap).
struct KBlocks {
  int64_t taps = 1;        // in all
  int64_t k = 0;           // per tap
  int64_t count = 1;       // number of blocks
  int64_t block_taps = 1;  // taps per block when taps > 1
  int64_t block_k = 0;     // k per block when taps == 1

  static KBlocks make(int64_t taps, int64_t k);
  int64_t total() const { return taps * k; }
  /// First row of B of block i; begin(count) is total().
  int64_t begin(int64_t i) const;
};

/// The right-hand side in panel order. Groups (of a grouped convolution) follow each other.
struct PanelLayout {
  int64_t n = 0;  // columns per group
  int64_t groups = 1;
  int64_t panel = 0;  // columns of a full panel
  int64_t lanes = 0;  // columns of a narrow last panel
  KBlocks blocks;

  static PanelLayout make(const KernelTable& table, int64_t n, int64_t groups, KBlocks blocks);
  int64_t panels() const { return (n + panel - 1) / panel; }  // per group
  int64_t width(int64_t p) const { return n - p * panel <= lanes ? lanes : panel; }
  int64_t padded_n() const { return n == 0 ? 0 : (panels() - 1) * panel + width(panels() - 1); }
  size_t size() const { return static_cast<size_t>(padded_n() * blocks.total() * groups); }
  /// Where panel p of block `block` of group g begins.
  size_t offset(int64_t g, int64_t block, int64_t p) const;
};

/// One group's matrix: B(k, n) is b[k * stride_k + n * stride_n].
struct MatrixRef {
  const float* data = nullptr;
  int64_t stride_k = 0;
  int64_t stride_n = 1;
};

/// Packs the panels [first_panel, panels()) of a group.
void pack_panels(const KernelTable& table, const PanelLayout& layout, int64_t group, MatrixRef b,
                 float* out, int64_t first_panel = 0);

struct PanelProduct {
  const KernelTable* table = nullptr;
  PanelLayout layout;
  int64_t rows = 0;
  const float* b = nullptr;  // packed
  // When set, full panels are read from this unpacked matrix (one group, stride_n 1) and only a
  // narrow or cut last panel from `b`.
  MatrixRef unpacked;
  const float* bias = nullptr;  // groups * padded_n values, or null
  int64_t a_group_offset = 0;   // distance between the groups' A columns
  float* c = nullptr;
  int64_t ldc = 0;
  const float* residual = nullptr;
  int64_t ld_residual = 0;
  Epilogue epilogue;
};

/// Where the rows of A lie. Fills pointers for rows [first, first + count): out[tap * count + i].
/// `scratch` is the thread's own memory.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual void fill(int64_t first, int64_t count, const float** out, std::byte* scratch) const = 0;
  /// Bytes of scratch for `rows` rows beyond the pointers themselves.
  virtual size_t scratch_bytes(int64_t rows) const = 0;
};

/// A matrix as it lies in memory.
class MatrixRows final : public RowSource {
 public:
  MatrixRows(const float* x, int64_t ld) : x_(x), ld_(ld) {}

  void fill(int64_t first, int64_t count, const float** out, std::byte*) const override {
    const float* row = x_ + first * ld_;
    for (int64_t i = 0; i < count; ++i, row += ld_) out[i] = row;
  }
  size_t scratch_bytes(int64_t) const override { return 0; }

 private:
  const float* x_;
  int64_t ld_;
};

/// Rows of one task for a product of this shape (a whole number of tiles).
int64_t block_rows(const KernelTable& table, const KBlocks& blocks, int64_t rows);

/// Scratch per thread.
size_t product_scratch_bytes(const KernelTable& table, const KBlocks& blocks, int64_t rows,
                             const RowSource& source);

/// `scratch` holds pool.threads() areas of scratch_stride bytes each.
void run_product(const PanelProduct& p, const RowSource& source, ThreadPool& pool,
                 std::byte* scratch, size_t scratch_stride);

}  // namespace ec::kernels
