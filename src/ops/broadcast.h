// Numpy broadcasting for element-wise kernels. Dimensions along which all operands step alike are
// merged first, so that equal shapes, scalars and trailing or leading operands become one or two
// plain loops; only what is left is walked index by index.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/value.h"
#include "support/budget.h"

namespace ec {

struct BroadcastPlan {
  std::vector<int64_t> outer;                 // sizes of the merged outer dimensions
  int64_t inner = 1;                          // length of a run
  std::vector<std::vector<int64_t>> strides;  // per operand, of the outer dimensions
  std::vector<int64_t> inner_strides;         // per operand: 1, or 0 where it repeats
  int64_t runs = 1;                           // product of outer
};

// Operand shapes broadcast to target.
BroadcastPlan plan_broadcast(std::span<const int64_t> target,
                             std::span<const std::span<const int64_t>> operands);

// Calls f(result offset, operand offsets) for each run of plan.inner elements.
template <size_t N, class F>
void for_each_run(const BroadcastPlan& plan, F&& f) {
  std::vector<int64_t> index(plan.outer.size(), 0);
  std::array<int64_t, N> offsets{};
  Ticker ticker;
  for (int64_t run = 0; run < plan.runs; ++run) {
    f(run * plan.inner, offsets);
    if (ticker.tick(plan.inner)) return;
    for (size_t d = index.size(); d-- > 0;) {
      for (size_t k = 0; k < N; ++k) offsets[k] += plan.strides[k][d];
      if (++index[d] < plan.outer[d]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= plan.strides[k][d] * plan.outer[d];
      index[d] = 0;
    }
  }
}

// out[i] = f(a[i], b[i]) over the broadcast operands.
template <class R, class A, class B, class F>
void map_broadcast(const BroadcastPlan& plan, const A* a, const B* b, R* out, F&& f) {
  const int64_t n = plan.inner;
  const bool step_a = plan.inner_strides[0] != 0, step_b = plan.inner_strides[1] != 0;
  for_each_run<2>(plan, [&](int64_t at, const std::array<int64_t, 2>& offsets) {
    const A* x = a + offsets[0];
    const B* y = b + offsets[1];
    R* z = out + at;
    if (step_a && step_b) {
      for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], y[i]);
    } else if (step_a) {
      const B value = *y;
      for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], value);
    } else {
      const A value = *x;
      const int64_t step = step_b ? 1 : 0;
      for (int64_t i = 0; i < n; ++i) z[i] = f(value, y[i * step]);
    }
  });
}

}  // namespace ec
