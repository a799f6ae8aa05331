// Pooling over NHWC images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::kernels {

enum class PoolKind : uint8_t { Max, Average };

struct Pool2dShape {
  int64_t batch = 1;
  int64_t in_h = 0, in_w = 0, channels = 0;
  int64_t out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool count_include_pad = false;  // average: divide by the window clipped to the padded image
};

size_t pool_scratch_bytes(const Pool2dShape& shape, int threads);
void run_pool(const KernelTable& table, const Pool2dShape& shape, PoolKind kind, const float* x,
              float* y, ThreadPool& pool, std::byte* scratch);

/// Maxima of signed or unsigned bytes.
void run_max_pool(const KernelTable& table, const Pool2dShape& shape, const int8_t* x, int8_t* y,
                  ThreadPool& pool, std::byte* scratch);
void run_max_pool(const KernelTable& table, const Pool2dShape& shape, const uint8_t* x, uint8_t* y,
                  ThreadPool& pool, std::byte* scratch);

/// Mean or maximum over all pixels: y is [batch, channels].
void run_global_pool(const KernelTable& table, int64_t batch, int64_t pixels, int64_t channels,
                     PoolKind kind, const float* x, float* y, ThreadPool& pool, std::byte* scratch);
size_t global_pool_scratch_bytes(int64_t pixels, int threads);

}  // namespace ec::kernels
