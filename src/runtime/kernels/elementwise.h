// Element-wise operations over whole tensors, with broadcasting.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::kernels {

void run_unary(const KernelTable& table, UnaryOp op, const float* x, float* y, int64_t count,
               float alpha, float beta, ThreadPool& pool);

/// y = a op b with numpy broadcasting. The plan joins dimensions that are walked alike; what is
/// left is a loop over outer dimensions around one of the three inner loops.
class BinaryPlan {
 public:
  BinaryPlan(std::span<const int64_t> a_shape, std::span<const int64_t> b_shape);

  void run(const KernelTable& table, BinaryOp op, const float* a, const float* b, float* y,
           ThreadPool& pool, Epilogue epilogue = {}) const;

 private:
  struct Axis {
    int64_t size, a_stride, b_stride;
  };
  std::vector<Axis> outer_;
  Axis inner_{1, 1, 1};
  int64_t outer_count_ = 1;
};

}  // namespace ec::kernels
