// Matrix multiplication: with a constant right-hand side packed once, and with two run-time
// matrices.
#pragma once

#include <vector>

#include "runtime/kernels/panel_product.h"

namespace ec::kernels {

/// C[m, n] = epilogue(A[m, k] B[k, n] + bias + residual) with B known in advance.
class PackedGemm {
 public:
  /// `bias` holds n values or is null.
  PackedGemm(const KernelTable& table, int64_t k, int64_t n, MatrixRef b, float alpha,
             const float* bias, Epilogue epilogue);

  size_t scratch_bytes(int64_t m, int threads) const;
  void run(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc, const float* residual,
           ThreadPool& pool, std::byte* scratch) const;
  size_t packed_bytes() const { return (weights_.size() + bias_.size()) * sizeof(float); }
  int64_t n() const { return layout_.n; }
  int64_t k() const { return layout_.blocks.total(); }

 private:
  const KernelTable* table_;
  PanelLayout layout_;
  Epilogue epilogue_;
  AlignedBuffer<float> weights_;
  AlignedBuffer<float> bias_;
};

/// A batch of products of run-time matrices. Offsets count floats from the base pointers, one per
/// product, so that broadcast batches need no copies.
struct BatchedGemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride_m = 0, a_stride_k = 1;
  int64_t b_stride_k = 0, b_stride_n = 1;
  int64_t c_stride_m = 0;  // 0: n
  std::vector<int64_t> a_offsets, b_offsets, c_offsets;
};

class BatchedGemm {
 public:
  BatchedGemm(const KernelTable& table, BatchedGemmShape shape, float alpha, Epilogue epilogue);

  size_t scratch_bytes(int threads) const;
  /// `bias` holds n values or is null.
  void run(const float* a, const float* b, const float* bias, float* c, ThreadPool& pool,
           std::byte* scratch) const;

 private:
  struct Areas {  // scratch of one product
    size_t rows, a, b, bias, total;
  };
  Areas areas() const;
  void prepare_b(const float* b, float* packed) const;
  PanelProduct product(const float* b, const float* packed, const float* bias, float* c) const;
  const float* prepare_a(const float* a, float* copy) const;

  const KernelTable* table_;
  BatchedGemmShape shape_;
  float alpha_;
  Epilogue epilogue_;
  PanelLayout layout_;
  bool direct_b_ = false;  // full panels are read from B as it lies
  bool copy_a_ = false;    // A is transposed or scaled into scratch
};

}  // namespace ec::kernels
