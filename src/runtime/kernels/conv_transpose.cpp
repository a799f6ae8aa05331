#include "runtime/kernels/conv_transpose.h"

#include <algorithm>

namespace ec::kernels {

ConvTranspose2d::ConvTranspose2d(const KernelTable& table, const Conv2dShape& shape,
                                 const float* weights, WeightStrides strides, const float* bias,
                                 Epilogue epilogue)
    : table_(&table), shape_(shape), epilogue_(epilogue), bias_(static_cast<size_t>(shape.out_c)) {
  if (bias != nullptr) std::copy(bias, bias + shape_.out_c, bias_.data());
  const int64_t in = shape_.in_c / shape_.groups;
  const int64_t out = shape_.out_c / shape_.groups;
  AlignedBuffer<float> ordered(static_cast<size_t>(in * column_width()));
  for (int64_t g = 0; g < shape_.groups; ++g) {
    float* to = ordered.data();
    for (int64_t i = 0; i < in; ++i)
      for (int64_t y = 0; y < shape_.kernel_h; ++y)
        for (int64_t x = 0; x < shape_.kernel_w; ++x)
          for (int64_t o = 0; o < out; ++o)
            *to++ = weights[(g * in + i) * strides.in + o * strides.out + y * strides.row +
                            x * strides.column];
    products_.emplace_back(table, in, column_width(), MatrixRef{ordered.data(), column_width(), 1},
                           1.0F, nullptr, Epilogue{});
  }
}

// The product of one image and group, then the scratch of the product itself.
size_t ConvTranspose2d::scratch_bytes(int threads) const {
  const int64_t pixels = shape_.in_h * shape_.in_w;
  const size_t columns = static_cast<size_t>(pixels * column_width()) * sizeof(float);
  const size_t product = products_.empty() ? 0 : products_[0].scratch_bytes(pixels, threads);
  return (columns + kAlignment - 1) / kAlignment * kAlignment + product;
}

size_t ConvTranspose2d::packed_bytes() const {
  size_t bytes = bias_.size() * sizeof(float);
  for (const PackedGemm& product : products_) bytes += product.packed_bytes();
  return bytes;
}

void ConvTranspose2d::run(const float* x, float* y, ThreadPool& pool, std::byte* scratch) const {
  const int64_t pixels = shape_.in_h * shape_.in_w;
  auto* columns = reinterpret_cast<float*>(scratch);
  const size_t columns_bytes =
      (static_cast<size_t>(pixels * column_width()) * sizeof(float) + kAlignment - 1) / kAlignment *
      kAlignment;
  for (int64_t n = 0; n < shape_.batch; ++n) {
    for (int64_t g = 0; g < shape_.groups; ++g) {
      const float* a = x + n * pixels * shape_.in_c + g * (shape_.in_c / shape_.groups);
      products_[static_cast<size_t>(g)].run(a, shape_.in_c, pixels, columns, column_width(),
                                            nullptr, pool, scratch + columns_bytes);
      scatter(columns, y, n, g, pool);
    }
  }
}

// Each output row gathers the kernel rows that reach it, so rows can run in parallel and every sum
// has one fixed order.
void ConvTranspose2d::scatter(const float* columns, float* y, int64_t image, int64_t group,
                              ThreadPool& pool) const {
  const Conv2dShape& s = shape_;
  const int64_t out = s.out_c / s.groups;
  const BinaryFn add = table_->binary[static_cast<size_t>(BinaryOp::Add)].vv;
  const UnaryFn after = table_->unary[static_cast<size_t>(epilogue_.op)];
  pool.parallel_for(s.out_h, [&](int64_t oy, int) {
    float* row = y + (image * s.out_h + oy) * s.out_w * s.out_c + group * out;
    const float* bias = bias_.data() + group * out;
    for (int64_t ox = 0; ox < s.out_w; ++ox) std::copy(bias, bias + out, row + ox * s.out_c);
    for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
      const int64_t reach = oy + s.pad_top - ky * s.dilation_h;
      if (reach < 0 || reach % s.stride_h != 0 || reach / s.stride_h >= s.in_h) continue;
      const int64_t iy = reach / s.stride_h;
      for (int64_t ix = 0; ix < s.in_w; ++ix) {
        const float* from = columns + (iy * s.in_w + ix) * column_width() + ky * s.kernel_w * out;
        for (int64_t kx = 0; kx < s.kernel_w; ++kx, from += out) {
          const int64_t ox = ix * s.stride_w - s.pad_left + kx * s.dilation_w;
          if (ox < 0 || ox >= s.out_w) continue;
          float* to = row + ox * s.out_c;
          add(to, from, to, out);
        }
      }
    }
    if (epilogue_.op == UnaryOp::Identity) return;
    for (int64_t ox = 0; ox < s.out_w; ++ox) {
      float* to = row + ox * s.out_c;
      after(to, to, out, epilogue_.alpha, epilogue_.beta);
    }
  });
}

}  // namespace ec::kernels
