#include "runtime/kernels/pool.h"

#include <algorithm>
#include <limits>

namespace ec::kernels {

namespace {

/// The kernel positions i in [begin, end) of one axis that fall inside [low, high).
struct Window {
  int64_t begin, end;
};

Window clip(int64_t start, int64_t dilation, int64_t kernel, int64_t low, int64_t high) {
  int64_t begin = 0;
  int64_t end = kernel;
  while (begin < end && start + begin * dilation < low) ++begin;
  while (end > begin && start + (end - 1) * dilation >= high) --end;
  return {begin, end};
}

int64_t length(Window w) { return w.end - w.begin; }

void pool_pixel(const KernelTable& table, PoolKind kind, const float* const* taps, int64_t count,
                int64_t divisor, float* y, int64_t channels) {
  if (count == 0) {
    const float none = kind == PoolKind::Max ? -std::numeric_limits<float>::infinity() : 0.0F;
    std::fill(y, y + channels, none);
  } else if (kind == PoolKind::Max) {
    table.gather_max(taps, count, y, channels);
  } else {
    table.gather_sum(taps, count, y, channels, 1.0F / static_cast<float>(divisor));
  }
}

}  // namespace

namespace {

// Elements of the image that one window can hold, however much padding is around them.
int64_t most_taps(const Pool2dShape& s) {
  return std::min(s.kernel_h, s.in_h) * std::min(s.kernel_w, s.in_w);
}

}  // namespace

size_t pool_scratch_bytes(const Pool2dShape& s, int threads) {
  return static_cast<size_t>(most_taps(s)) * sizeof(const float*) * static_cast<size_t>(threads);
}

namespace {

/// Calls f(taps, count, divisor, result) for every pixel of the result, on all threads.
template <class T, class F>
void for_each_pixel(const Pool2dShape& s, const T* x, T* y, ThreadPool& pool, std::byte* scratch,
                    F&& f) {
  pool.parallel_for(s.batch * s.out_h, [&](int64_t task, int thread) {
    auto** taps =
        reinterpret_cast<const T**>(scratch) + static_cast<int64_t>(thread) * most_taps(s);
    const T* image = x + task / s.out_h * s.in_h * s.in_w * s.channels;
    const int64_t y0 = task % s.out_h * s.stride_h - s.pad_top;
    const Window rows = clip(y0, s.dilation_h, s.kernel_h, 0, s.in_h);
    const Window padded_rows =
        clip(y0, s.dilation_h, s.kernel_h, -s.pad_top, s.in_h + s.pad_bottom);
    Ticker ticker;
    for (int64_t ox = 0; ox < s.out_w; ++ox) {
      if (ticker.look(s.kernel_h * s.kernel_w)) return;
      const int64_t x0 = ox * s.stride_w - s.pad_left;
      const Window columns = clip(x0, s.dilation_w, s.kernel_w, 0, s.in_w);
      int64_t count = 0;
      for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
        const T* row = image + (y0 + ky * s.dilation_h) * s.in_w * s.channels;
        for (int64_t kx = columns.begin; kx < columns.end; ++kx)
          taps[count++] = row + (x0 + kx * s.dilation_w) * s.channels;
      }
      int64_t divisor = count;
      if (s.count_include_pad) {
        divisor = length(padded_rows) *
                  length(clip(x0, s.dilation_w, s.kernel_w, -s.pad_left, s.in_w + s.pad_right));
      }
      f(taps, count, divisor, y + (task * s.out_w + ox) * s.channels);
    }
  });
}

template <class T, class F>
void max_pool_bytes(const Pool2dShape& s, const T* x, T* y, ThreadPool& pool, std::byte* scratch,
                    F&& gather_max) {
  for_each_pixel(s, x, y, pool, scratch,
                 [&](const T* const* taps, int64_t count, int64_t, T* result) {
                   if (count == 0)
                     std::fill(result, result + s.channels, std::numeric_limits<T>::lowest());
                   else
                     gather_max(taps, count, result, s.channels);
                 });
}

}  // namespace

void run_pool(const KernelTable& table, const Pool2dShape& s, PoolKind kind, const float* x,
              float* y, ThreadPool& pool, std::byte* scratch) {
  for_each_pixel(s, x, y, pool, scratch,
                 [&](const float* const* taps, int64_t count, int64_t divisor, float* result) {
                   pool_pixel(table, kind, taps, count, divisor, result, s.channels);
                 });
}

void run_max_pool(const KernelTable& table, const Pool2dShape& s, const int8_t* x, int8_t* y,
                  ThreadPool& pool, std::byte* scratch) {
  max_pool_bytes(s, x, y, pool, scratch, table.gather_max_i8);
}
void run_max_pool(const KernelTable& table, const Pool2dShape& s, const uint8_t* x, uint8_t* y,
                  ThreadPool& pool, std::byte* scratch) {
  max_pool_bytes(s, x, y, pool, scratch, table.gather_max_u8);
}

size_t global_pool_scratch_bytes(int64_t pixels, int threads) {
  return static_cast<size_t>(pixels) * sizeof(const float*) * static_cast<size_t>(threads);
}

void run_global_pool(const KernelTable& table, int64_t batch, int64_t pixels, int64_t channels,
                     PoolKind kind, const float* x, float* y, ThreadPool& pool,
                     std::byte* scratch) {
  pool.parallel_for(batch, [&](int64_t n, int thread) {
    auto** taps = reinterpret_cast<const float**>(scratch) + static_cast<int64_t>(thread) * pixels;
    for (int64_t i = 0; i < pixels; ++i) taps[i] = x + (n * pixels + i) * channels;
    pool_pixel(table, kind, taps, pixels, pixels, y + n * channels, channels);
  });
}

}  // namespace ec::kernels
