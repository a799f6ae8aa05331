#include "runtime/kernels/elementwise.h"

#include <algorithm>

namespace ec::kernels {

namespace {
constexpr int64_t kTaskValues = 16 * 1024;  // large enough that handing out a task costs nothing

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
}  // namespace

void run_unary(const KernelTable& table, UnaryOp op, const float* x, float* y, int64_t count,
               float alpha, float beta, ThreadPool& pool) {
  const UnaryFn fn = table.unary[static_cast<size_t>(op)];
  pool.parallel_for(ceil_div(count, kTaskValues), [&](int64_t task, int) {
    const int64_t first = task * kTaskValues;
    fn(x + first, y + first, std::min(kTaskValues, count - first), alpha, beta);
  });
}

BinaryPlan::BinaryPlan(std::span<const int64_t> a_shape, std::span<const int64_t> b_shape) {
  const size_t rank = std::max(a_shape.size(), b_shape.size());
  const auto dim = [rank](std::span<const int64_t> shape, size_t i) {
    const size_t missing = rank - shape.size();
    return i < missing ? int64_t{1} : shape[i - missing];
  };
  std::vector<Axis> axes;  // innermost first
  int64_t a_step = 1;
  int64_t b_step = 1;
  for (size_t i = rank; i-- > 0;) {
    const int64_t a = dim(a_shape, i);
    const int64_t b = dim(b_shape, i);
    const int64_t size = a == 1 ? b : a;
    const Axis axis{size, a == 1 ? 0 : a_step, b == 1 ? 0 : b_step};
    a_step *= a;
    b_step *= b;
    if (size == 1) continue;
    // An axis continues the one inside it when both operands step over it exactly.
    if (!axes.empty() && axis.a_stride == axes.back().a_stride * axes.back().size &&
        axis.b_stride == axes.back().b_stride * axes.back().size) {
      axes.back().size *= size;
    } else {
      axes.push_back(axis);
    }
  }
  if (!axes.empty()) {
    inner_ = axes.front();
    outer_.assign(axes.begin() + 1, axes.end());
  }
  for (const Axis& axis : outer_) outer_count_ *= axis.size;
}

void BinaryPlan::run(const KernelTable& table, BinaryOp op, const float* a, const float* b,
                     float* y, ThreadPool& pool, Epilogue epilogue) const {
  const BinaryFns& fns = table.binary[static_cast<size_t>(op)];
  const BinaryFn fn = inner_.a_stride == 0 ? fns.sv : (inner_.b_stride == 0 ? fns.vs : fns.vv);
  const UnaryFn after =
      epilogue.op == UnaryOp::Identity ? nullptr : table.unary[static_cast<size_t>(epilogue.op)];
  const int64_t n = inner_.size;
  if (n == 0 || outer_count_ == 0) return;
  const int64_t pieces = ceil_div(n, kTaskValues);
  const int64_t piece = ceil_div(n, pieces);
  const int64_t rows = std::max<int64_t>(1, kTaskValues / n);  // outer steps per task
  const int64_t row_tasks = ceil_div(outer_count_, rows);
  pool.parallel_for(row_tasks * pieces, [&](int64_t task, int) {
    const int64_t first = task % pieces * piece;
    const int64_t count = std::min(piece, n - first);
    const int64_t row0 = task / pieces * rows;
    const int64_t row1 = std::min(outer_count_, row0 + rows);
    for (int64_t row = row0; row < row1; ++row) {
      int64_t a_at = first * inner_.a_stride;
      int64_t b_at = first * inner_.b_stride;
      int64_t rest = row;
      for (const Axis& axis : outer_) {
        const int64_t i = rest % axis.size;
        rest /= axis.size;
        a_at += i * axis.a_stride;
        b_at += i * axis.b_stride;
      }
      float* to = y + row * n + first;
      fn(a + a_at, b + b_at, to, count);
      if (after != nullptr) after(to, to, count, epilogue.alpha, epilogue.beta);
    }
  });
}

}  // namespace ec::kernels
