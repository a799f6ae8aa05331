// Transposed convolution over NHWC images: one matrix product, then a scatter into the output.
#pragma once

#include <vector>

#include "runtime/kernels/conv2d.h"
#include "runtime/kernels/gemm.h"

namespace ec::kernels {

class ConvTranspose2d {
 public:
  /// In `shape`, in_* is the input of the transposed convolution and out_* its (larger) output.
  /// Weight (i, o, y, x) is at i*in + o*out + y*row + x*column; o counts within the group.
  ConvTranspose2d(const KernelTable& table, const Conv2dShape& shape, const float* weights,
                  WeightStrides strides, const float* bias, Epilogue epilogue);

  size_t scratch_bytes(int threads) const;
  void run(const float* x, float* y, ThreadPool& pool, std::byte* scratch) const;
  size_t packed_bytes() const;

 private:
  void scatter(const float* columns, float* y, int64_t image, int64_t group,
               ThreadPool& pool) const;
  int64_t column_width() const {
    return shape_.kernel_h * shape_.kernel_w * (shape_.out_c / shape_.groups);
  }

  const KernelTable* table_;
  Conv2dShape shape_;
  Epilogue epilogue_;
  std::vector<PackedGemm> products_;  // one per group
  AlignedBuffer<float> bias_;
};

}  // namespace ec::kernels
