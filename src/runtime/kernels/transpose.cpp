#include "runtime/kernels/transpose.h"

#include <algorithm>
#include <cstring>

namespace ec::kernels {

namespace {

constexpr int64_t kTaskBytes = 64 * 1024;

template <class T>
void transpose_plain(const std::byte* from, int64_t ld_from, std::byte* to, int64_t ld_to,
                     int64_t rows, int64_t columns) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    const int64_t i1 = std::min(rows, i0 + kBlock);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = i0; i < i1; ++i) y[j * ld_to + i] = x[i * ld_from + j];
  }
}

void transpose_any(const KernelTable& table, size_t element, const std::byte* from, int64_t ld_from,
                   std::byte* to, int64_t ld_to, int64_t rows, int64_t columns) {
  switch (element) {
    case 1:
      return transpose_plain<uint8_t>(from, ld_from, to, ld_to, rows, columns);
    case 2:
      return transpose_plain<uint16_t>(from, ld_from, to, ld_to, rows, columns);
    case 4:
      return table.transpose(reinterpret_cast<const float*>(from), ld_from,
                             reinterpret_cast<float*>(to), ld_to, rows, columns);
    default:
      return transpose_plain<uint64_t>(from, ld_from, to, ld_to, rows, columns);
  }
}

}  // namespace

TransposePlan::TransposePlan(std::span<const int64_t> shape, std::span<const int64_t> perm,
                             size_t element_size)
    : element_size_(element_size) {
  const size_t rank = shape.size();
  std::vector<int64_t> stride(rank, 1);
  for (size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * shape[i];

  std::vector<Axis> axes;  // of the output, outermost first, joined where they stay neighbours
  for (size_t i = 0; i < rank; ++i) {
    const auto p = static_cast<size_t>(perm[i]);
    if (shape[p] == 1) continue;
    if (!axes.empty() && axes.back().in_stride == stride[p] * shape[p]) {
      axes.back().size *= shape[p];
      axes.back().in_stride = stride[p];
    } else {
      axes.push_back({shape[p], stride[p], 0});
    }
  }
  int64_t step = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].out_stride = step;
    step *= axes[i].size;
  }

  const bool keeps_last = axes.empty() || axes.back().in_stride == 1;
  if (keeps_last) {
    copy_ = true;
    if (!axes.empty()) {
      run_ = axes.back().size;
      axes.pop_back();
    }
  } else {
    row_ = axes.back();
    axes.pop_back();
    const auto last =
        std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.in_stride == 1; });
    column_ = *last;
    axes.erase(last);
  }
  outer_ = std::move(axes);
  for (const Axis& a : outer_) outer_count_ *= a.size;
}

void TransposePlan::run(const KernelTable& table, const std::byte* x, std::byte* y,
                        ThreadPool& pool) const {
  if (outer_count_ == 0 || run_ == 0 || row_.size == 0 || column_.size == 0) return;
  if (copy_) {
    run_copy(x, y, pool);
  } else {
    run_blocks(table, x, y, pool);
  }
}

void TransposePlan::run_copy(const std::byte* x, std::byte* y, ThreadPool& pool) const {
  const auto bytes = static_cast<int64_t>(element_size_) * run_;
  const int64_t per_task = std::max<int64_t>(1, kTaskBytes / bytes);
  const int64_t tasks = (outer_count_ + per_task - 1) / per_task;
  pool.parallel_for(tasks, [&](int64_t task, int) {
    const int64_t end = std::min(outer_count_, (task + 1) * per_task);
    for (int64_t i = task * per_task; i < end; ++i) {
      int64_t from = 0;
      int64_t rest = i;
      for (size_t d = outer_.size(); d-- > 0;) {
        from += rest % outer_[d].size * outer_[d].in_stride;
        rest /= outer_[d].size;
      }
      std::memcpy(y + i * bytes, x + from * static_cast<int64_t>(element_size_),
                  static_cast<size_t>(bytes));
    }
  });
}

void TransposePlan::run_blocks(const KernelTable& table, const std::byte* x, std::byte* y,
                               ThreadPool& pool) const {
  const auto element = static_cast<int64_t>(element_size_);
  // Pieces of the input-consecutive axis: whole cache lines on both sides.
  const int64_t piece = std::min<int64_t>(
      column_.size, std::max<int64_t>(16, kTaskBytes / element / row_.size / 16 * 16));
  const int64_t pieces = (column_.size + piece - 1) / piece;
  pool.parallel_for(outer_count_ * pieces, [&](int64_t task, int) {
    int64_t from = 0;
    int64_t to = 0;
    int64_t rest = task / pieces;
    for (size_t d = outer_.size(); d-- > 0;) {
      const int64_t i = rest % outer_[d].size;
      rest /= outer_[d].size;
      from += i * outer_[d].in_stride;
      to += i * outer_[d].out_stride;
    }
    const int64_t first = task % pieces * piece;
    const int64_t count = std::min(piece, column_.size - first);
    from += first;
    to += first * column_.out_stride;
    transpose_any(table, element_size_, x + from * element, row_.in_stride, y + to * element,
                  column_.out_stride, row_.size, count);
  });
}

}  // namespace ec::kernels
