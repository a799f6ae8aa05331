#include "runtime/kernels/conv2d.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ec::kernels {

namespace {

// Up to this many channels the taps of one kernel row are read as one run: fewer and longer inner
// loops. Only windows that stick out of the image are copied.
constexpr int64_t kMergeChannels = 64;

/// A run of output pixels in one output row.
struct Run {
  int64_t n = 0, z = 0, y = 0, x = 0;  // image, plane, row and column of its first pixel
  int64_t count = 0;
  int64_t at = 0;  // index of its first pixel within the request
};

/// Cuts pixels [first, first + count) into runs.
template <class F>
void for_each_run(const Conv2dShape& s, int64_t first, int64_t count, F&& f) {
  Run run;
  run.x = first % s.out_w;
  run.y = first / s.out_w % s.out_h;
  run.z = first / s.out_w / s.out_h % s.out_d;
  run.n = first / s.out_w / s.out_h / s.out_d;
  while (run.at < count) {
    run.count = std::min(count - run.at, s.out_w - run.x);
    f(run);
    run.at += run.count;
    run.x = 0;
    if (++run.y < s.out_h) continue;
    run.y = 0;
    if (++run.z < s.out_d) continue;
    run.z = 0;
    ++run.n;
  }
}

/// First and last + 1 of the i in [0, count) with 0 <= start + i * step and start + i * step +
/// width <= limit.
struct Inside {
  int64_t begin = 0;
  int64_t end = 0;
};

Inside inside(int64_t start, int64_t step, int64_t width, int64_t limit, int64_t count) {
  Inside r;
  r.begin = start >= 0 ? 0 : (-start + step - 1) / step;
  const int64_t room = limit - width - start;
  r.end = room < 0 ? 0 : room / step + 1;
  r.begin = std::min(r.begin, count);
  r.end = std::clamp(r.end, r.begin, count);
  return r;
}

/// One pointer per kernel tap; taps outside the image point at zeros.
class TapRows final : public RowSource {
 public:
  TapRows(const Conv2dShape& s, const float* x, const float* zeros) : s_(s), x_(x), zeros_(zeros) {}

  void fill(int64_t first, int64_t count, const float** out, std::byte*) const override {
    for_each_run(s_, first, count, [&](const Run& run) { fill_run(run, count, out + run.at); });
  }
  size_t scratch_bytes(int64_t) const override { return 0; }

 private:
  void fill_run(const Run& run, int64_t count, const float** out) const {
    for (int64_t kz = 0; kz < s_.kernel_d; ++kz) {
      const int64_t iz = run.z * s_.stride_d - s_.pad_front + kz * s_.dilation_d;
      const bool plane_inside = iz >= 0 && iz < s_.in_d;
      for (int64_t ky = 0; ky < s_.kernel_h; ++ky) {
        const int64_t iy = run.y * s_.stride_h - s_.pad_top + ky * s_.dilation_h;
        const bool row_inside = plane_inside && iy >= 0 && iy < s_.in_h;
        const int64_t row = ((run.n * s_.in_d + iz) * s_.in_h + iy) * s_.in_w;
        for (int64_t kx = 0; kx < s_.kernel_w; ++kx, out += count)
          fill_tap(run, row_inside, row, run.x * s_.stride_w - s_.pad_left + kx * s_.dilation_w,
                   out);
      }
    }
  }

  void fill_tap(const Run& run, bool row_inside, int64_t row, int64_t ix, const float** out) const {
    const int64_t step = s_.stride_w * s_.in_c;
    const Inside in = row_inside ? inside(ix, s_.stride_w, 1, s_.in_w, run.count) : Inside{};
    std::fill(out, out + in.begin, zeros_);
    const int64_t base = (row + ix) * s_.in_c;
    for (int64_t i = in.begin; i < in.end; ++i) out[i] = x_ + (base + i * step);
    std::fill(out + in.end, out + run.count, zeros_);
  }

  const Conv2dShape& s_;
  const float* x_;
  const float* zeros_;
};

/// One pointer per kernel row, to kernel_w * in_c consecutive values.
class MergedRows final : public RowSource {
 public:
  MergedRows(const Conv2dShape& s, const float* x, const float* zeros)
      : s_(s), x_(x), zeros_(zeros) {}

  void fill(int64_t first, int64_t count, const float** out, std::byte* scratch) const override {
    auto* patch = reinterpret_cast<float*>(scratch);
    for_each_run(s_, first, count,
                 [&](const Run& run) { patch = fill_run(run, count, out + run.at, patch); });
  }

  size_t scratch_bytes(int64_t rows) const override {
    return static_cast<size_t>(rows * s_.kernel_h * s_.kernel_w * s_.in_c) * sizeof(float);
  }

 private:
  float* fill_run(const Run& run, int64_t count, const float** out, float* patch) const {
    const int64_t ix = run.x * s_.stride_w - s_.pad_left;
    const Inside in = inside(ix, s_.stride_w, s_.kernel_w, s_.in_w, run.count);
    for (int64_t ky = 0; ky < s_.kernel_h; ++ky, out += count) {
      const int64_t iy = run.y * s_.stride_h - s_.pad_top + ky * s_.dilation_h;
      if (iy < 0 || iy >= s_.in_h) {
        std::fill(out, out + run.count, zeros_);
        continue;
      }
      const float* row = x_ + (run.n * s_.in_h + iy) * s_.in_w * s_.in_c;
      for (int64_t i = 0; i < run.count; ++i) {
        const int64_t column = ix + i * s_.stride_w;
        if (i >= in.begin && i < in.end) {
          out[i] = row + column * s_.in_c;
        } else {
          copy_clipped(row, column, patch);
          out[i] = patch;
          patch += s_.kernel_w * s_.in_c;
        }
      }
    }
    return patch;
  }

  void copy_clipped(const float* row, int64_t ix, float* patch) const {
    const int64_t first = std::clamp<int64_t>(-ix, 0, s_.kernel_w);
    const int64_t last = std::clamp<int64_t>(s_.in_w - ix, first, s_.kernel_w);
    std::fill(patch, patch + first * s_.in_c, 0.0F);
    if (last > first) {
      std::memcpy(patch + first * s_.in_c, row + (ix + first) * s_.in_c,
                  static_cast<size_t>((last - first) * s_.in_c) * sizeof(float));
    }
    std::fill(patch + last * s_.in_c, patch + s_.kernel_w * s_.in_c, 0.0F);
  }

  const Conv2dShape& s_;
  const float* x_;
  const float* zeros_;
};

size_t align_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Conv2d::Conv2d(const KernelTable& table, const Conv2dShape& shape, const float* weights,
               WeightStrides strides, const float* bias, Epilogue epilogue)
    : table_(&table), shape_(shape), epilogue_(epilogue) {
  depthwise_ = is_depthwise(shape_);
  if (depthwise_) {
    if (bias != nullptr) {
      bias_ = AlignedBuffer<float>(static_cast<size_t>(shape_.out_c));
      std::copy(bias, bias + shape_.out_c, bias_.data());
    }
    pack_depthwise(weights, strides);
  } else {
    pack_product(weights, strides, bias);
  }
}

bool Conv2d::is_depthwise(const Conv2dShape& s) {
  return s.groups > 1 && s.in_c == s.groups && s.out_c == s.in_c && !s.is_volume();
}

void Conv2d::pack_depthwise(const float* weights, WeightStrides w) {
  const int64_t taps = shape_.kernel_h * shape_.kernel_w;
  weights_ = AlignedBuffer<float>(static_cast<size_t>(taps * shape_.out_c));
  float* to = weights_.data();
  for (int64_t y = 0; y < shape_.kernel_h; ++y)
    for (int64_t x = 0; x < shape_.kernel_w; ++x)
      for (int64_t c = 0; c < shape_.out_c; ++c)
        *to++ = weights[c * w.out + y * w.row + x * w.column];
}

void Conv2d::pack_product(const float* weights, WeightStrides w, const float* bias) {
  const int64_t in = shape_.in_c / shape_.groups;
  const int64_t out = shape_.out_c / shape_.groups;
  matrix_ = shape_.kernel_h == 1 && shape_.kernel_w == 1 && shape_.stride_h == 1 &&
            shape_.stride_w == 1 && shape_.pad_top == 0 && shape_.pad_left == 0 &&
            shape_.out_h == shape_.in_h && shape_.out_w == shape_.in_w && shape_.kernel_d == 1 &&
            shape_.stride_d == 1 && shape_.pad_front == 0 && shape_.out_d == shape_.in_d;
  merged_ = shape_.groups == 1 && shape_.kernel_w > 1 && shape_.dilation_w == 1 &&
            in <= kMergeChannels && !shape_.is_volume();
  const KBlocks blocks =
      merged_ ? KBlocks::make(shape_.kernel_h, shape_.kernel_w * in)
              : KBlocks::make(shape_.kernel_d * shape_.kernel_h * shape_.kernel_w, in);
  layout_ = PanelLayout::make(*table_, out, shape_.groups, blocks);
  weights_ = AlignedBuffer<float>(layout_.size());
  zeros_ = AlignedBuffer<float>(static_cast<size_t>(shape_.in_c * (merged_ ? shape_.kernel_w : 1)));
  // K runs over (y, x, i), the order in which the inner loop walks it. Weights that lie so need no
  // copy in between; others are put in order one filter at a time.
  const int64_t k = blocks.total();
  const bool in_order = !shape_.is_volume() && w.in == 1 && w.column == in &&
                        w.row == shape_.kernel_w * in && w.out == k;
  AlignedBuffer<float> ordered(in_order ? 0 : static_cast<size_t>(k * out));
  for (int64_t g = 0; g < shape_.groups; ++g) {
    const float* first = weights + g * out * w.out;
    if (!in_order) {
      float* to = ordered.data();
      for (int64_t o = 0; o < out; ++o)
        for (int64_t z = 0; z < shape_.kernel_d; ++z)
          for (int64_t y = 0; y < shape_.kernel_h; ++y)
            for (int64_t x = 0; x < shape_.kernel_w; ++x)
              for (int64_t i = 0; i < in; ++i)
                *to++ = first[o * w.out + i * w.in + z * w.plane + y * w.row + x * w.column];
      first = ordered.data();
    }
    pack_panels(*table_, layout_, g, {first, 1, k}, weights_.data());
  }
  if (bias == nullptr) return;
  bias_ = AlignedBuffer<float>(static_cast<size_t>(layout_.padded_n() * shape_.groups));
  for (int64_t g = 0; g < shape_.groups; ++g)
    std::copy(bias + g * out, bias + (g + 1) * out, bias_.data() + g * layout_.padded_n());
}

size_t Conv2d::thread_scratch() const {
  if (depthwise_) return align_up(2 * static_cast<size_t>(shape_.kernel_h) * sizeof(const float*));
  const int64_t rows = shape_.out_pixels();
  if (merged_)
    return product_scratch_bytes(*table_, layout_.blocks, rows,
                                 MergedRows(shape_, nullptr, nullptr));
  return product_scratch_bytes(*table_, layout_.blocks, rows, TapRows(shape_, nullptr, nullptr));
}

size_t Conv2d::scratch_bytes(int threads) const {
  return thread_scratch() * static_cast<size_t>(threads);
}

void Conv2d::run(const float* x, float* y, const float* residual, ThreadPool& pool,
                 std::byte* scratch) const {
  if (depthwise_) return run_depthwise(x, y, pool, scratch);
  PanelProduct p;
  p.table = table_;
  p.layout = layout_;
  p.rows = shape_.out_pixels();
  p.b = weights_.data();
  p.bias = bias_.empty() ? nullptr : bias_.data();
  p.a_group_offset = shape_.in_c / shape_.groups;
  p.c = y;
  p.ldc = shape_.out_c;
  p.residual = residual;
  p.ld_residual = shape_.out_c;
  p.epilogue = epilogue_;
  if (matrix_) {
    run_product(p, MatrixRows(x, shape_.in_c), pool, scratch, thread_scratch());
  } else if (merged_) {
    run_product(p, MergedRows(shape_, x, zeros_.data()), pool, scratch, thread_scratch());
  } else {
    run_product(p, TapRows(shape_, x, zeros_.data()), pool, scratch, thread_scratch());
  }
}

void Conv2d::run_depthwise(const float* x, float* y, ThreadPool& pool, std::byte* scratch) const {
  const Conv2dShape& s = shape_;
  const bool clamped = epilogue_.op == UnaryOp::Clamp;
  const bool after = !clamped && epilogue_.op != UnaryOp::Identity;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const UnaryFn fn = table_->unary[static_cast<size_t>(epilogue_.op)];
  pool.parallel_for(s.batch * s.out_h, [&](int64_t task, int thread) {
    const int64_t n = task / s.out_h;
    const int64_t oy = task % s.out_h;
    auto** rows =
        reinterpret_cast<const float**>(scratch + static_cast<size_t>(thread) * thread_scratch());
    const float** weights = rows + s.kernel_h;
    DepthwiseRowArgs a;
    for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
      const int64_t iy = oy * s.stride_h - s.pad_top + ky * s.dilation_h;
      if (iy < 0 || iy >= s.in_h) continue;
      rows[a.row_count] = x + (n * s.in_h + iy) * s.in_w * s.in_c;
      weights[a.row_count] = weights_.data() + ky * s.kernel_w * s.out_c;
      ++a.row_count;
    }
    a.rows = rows;
    a.weights = weights;
    a.bias = bias_.empty() ? nullptr : bias_.data();
    a.y = y + task * s.out_w * s.out_c;
    a.channels = s.out_c;
    a.in_ld = s.in_c;
    a.out_ld = s.out_c;
    a.in_w = s.in_w;
    a.out_w = s.out_w;
    a.kernel_w = s.kernel_w;
    a.stride_w = s.stride_w;
    a.dilation_w = s.dilation_w;
    a.pad_left = s.pad_left;
    a.lo = clamped ? epilogue_.alpha : -kInf;
    a.hi = clamped ? epilogue_.beta : kInf;
    table_->depthwise_row(a);
    if (after) fn(a.y, a.y, s.out_w * s.out_c, epilogue_.alpha, epilogue_.beta);
  });
}

}  // namespace ec::kernels
