// Permutation of the dimensions of a tensor of any element size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::kernels {

class TransposePlan {
 public:
  /// Output dimension i is input dimension perm[i]. element_size is in bytes.
  TransposePlan(std::span<const int64_t> shape, std::span<const int64_t> perm, size_t element_size);

  void run(const KernelTable& table, const std::byte* x, std::byte* y, ThreadPool& pool) const;

 private:
  struct Axis {  // of the output, outermost first; strides in elements
    int64_t size, in_stride, out_stride;
  };
  void run_copy(const std::byte* x, std::byte* y, ThreadPool& pool) const;
  void run_blocks(const KernelTable& table, const std::byte* x, std::byte* y,
                  ThreadPool& pool) const;

  size_t element_size_;
  std::vector<Axis> outer_;  // walked one by one
  int64_t outer_count_ = 1;
  int64_t run_ = 1;       // elements that stay together; > 1 or no inner matrix: plain copies
  Axis row_{1, 0, 0};     // the inner matrix: consecutive in the output ...
  Axis column_{1, 0, 0};  // ... and consecutive in the input
  bool copy_ = false;
};

}  // namespace ec::kernels
