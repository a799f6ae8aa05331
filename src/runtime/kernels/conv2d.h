// Convolution over images, NHWC or NDHWC with a depth, weights packed once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/aligned_buffer.h"
#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/panel_product.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::kernels {

struct Conv2dShape {
  int64_t batch = 1;
  int64_t in_h = 0, in_w = 0, in_c = 0;
  int64_t out_h = 0, out_w = 0, out_c = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // bottom and right follow from out_h, out_w
  int64_t groups = 1;
  // For three spatial dimensions; an image has depth 1.
  int64_t in_d = 1, out_d = 1;
  int64_t kernel_d = 1, stride_d = 1, dilation_d = 1, pad_front = 0;

  // A plane of padding in front of a single one makes a volume, too.
  bool is_volume() const { return in_d != 1 || out_d != 1 || kernel_d != 1 || pad_front != 0; }
  int64_t out_pixels() const { return batch * out_d * out_h * out_w; }
};

/// Weight (o, i, z, y, x) is at o*out + i*in + z*plane + y*row + x*column; i counts within the
/// group.
struct WeightStrides {
  int64_t out = 0, in = 0, row = 0, column = 0, plane = 0;

  static WeightStrides oihw(const Conv2dShape& s) {
    const int64_t area = s.kernel_h * s.kernel_w;
    return {s.in_c / s.groups * area, area, s.kernel_w, 1, 0};
  }
  static WeightStrides ohwi(const Conv2dShape& s) {
    const int64_t in = s.in_c / s.groups;
    return {s.kernel_h * s.kernel_w * in, 1, s.kernel_w * in, in, 0};
  }
};

class Conv2d {
 public:
  /// `bias` holds out_c values or is null. in_c and out_c must be multiples of groups.
  Conv2d(const KernelTable& table, const Conv2dShape& shape, const float* weights,
         WeightStrides strides, const float* bias, Epilogue epilogue);

  size_t scratch_bytes(int threads) const;

  /// A residual (same layout as y) is added before the epilogue; only where takes_residual().
  void run(const float* x, float* y, const float* residual, ThreadPool& pool,
           std::byte* scratch) const;

  bool takes_residual() const { return !depthwise_; }
  /// One input channel per group and output channel: these have a kernel of their own.
  static bool is_depthwise(const Conv2dShape& shape);
  /// True if y may be the residual's own memory.
  bool residual_in_place() const { return !depthwise_ && layout_.blocks.count == 1; }
  size_t packed_bytes() const { return (weights_.size() + bias_.size()) * sizeof(float); }
  const Conv2dShape& shape() const { return shape_; }

 private:
  void pack_depthwise(const float* weights, WeightStrides strides);
  void pack_product(const float* weights, WeightStrides strides, const float* bias);
  void run_depthwise(const float* x, float* y, ThreadPool& pool, std::byte* scratch) const;
  size_t thread_scratch() const;

  const KernelTable* table_;
  Conv2dShape shape_;
  Epilogue epilogue_;
  bool depthwise_ = false;
  bool matrix_ = false;  // the image is the left-hand matrix as it lies
  bool merged_ = false;  // the taps of a kernel row are read as one run of memory
  PanelLayout layout_;
  AlignedBuffer<float> weights_;
  AlignedBuffer<float> bias_;
  AlignedBuffer<float> zeros_;
};

}  // namespace ec::kernels
