#include "runtime/kernels/gemm.h"

#include <algorithm>

namespace ec::kernels {

namespace {

// Reading B as it lies saves the copy; it pays while few rows share the copy or B stays in cache.
constexpr int64_t kDirectRows = 64;
constexpr int64_t kDirectValues = 64 * 1024;

size_t align_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

AlignedBuffer<float> pad_bias(const PanelLayout& layout, const float* bias) {
  if (bias == nullptr) return {};
  AlignedBuffer<float> padded(static_cast<size_t>(layout.padded_n()));
  std::copy(bias, bias + layout.n, padded.data());
  return padded;
}

}  // namespace

PackedGemm::PackedGemm(const KernelTable& table, int64_t k, int64_t n, MatrixRef b, float alpha,
                       const float* bias, Epilogue epilogue)
    : table_(&table),
      layout_(PanelLayout::make(table, n, 1, KBlocks::make(1, k))),
      epilogue_(epilogue),
      weights_(layout_.size()),
      bias_(pad_bias(layout_, bias)) {
  pack_panels(table, layout_, 0, b, weights_.data());
  if (alpha == 1.0F) return;
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i] *= alpha;
}

size_t PackedGemm::scratch_bytes(int64_t m, int threads) const {
  return product_scratch_bytes(*table_, layout_.blocks, m, MatrixRows(nullptr, 0)) *
         static_cast<size_t>(threads);
}

void PackedGemm::run(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc,
                     const float* residual, ThreadPool& pool, std::byte* scratch) const {
  PanelProduct p;
  p.table = table_;
  p.layout = layout_;
  p.rows = m;
  p.b = weights_.data();
  p.bias = bias_.empty() ? nullptr : bias_.data();
  p.c = c;
  p.ldc = ldc;
  p.residual = residual;
  p.ld_residual = ldc;
  p.epilogue = epilogue_;
  const MatrixRows rows(a, lda);
  run_product(p, rows, pool, scratch, product_scratch_bytes(*table_, layout_.blocks, m, rows));
}

BatchedGemm::BatchedGemm(const KernelTable& table, BatchedGemmShape shape, float alpha,
                         Epilogue epilogue)
    : table_(&table),
      shape_(std::move(shape)),
      alpha_(alpha),
      epilogue_(epilogue),
      layout_(PanelLayout::make(table, shape_.n, 1, KBlocks::make(1, shape_.k))) {
  direct_b_ =
      shape_.b_stride_n == 1 && (shape_.m <= kDirectRows || shape_.k * shape_.n <= kDirectValues);
  copy_a_ = shape_.a_stride_k != 1 || alpha != 1.0F;
}

BatchedGemm::Areas BatchedGemm::areas() const {
  Areas a{};
  a.rows = product_scratch_bytes(*table_, layout_.blocks, shape_.m, MatrixRows(nullptr, 0));
  a.a = copy_a_ ? align_up(static_cast<size_t>(shape_.m * shape_.k) * sizeof(float)) : 0;
  a.b = align_up(layout_.size() * sizeof(float));
  a.bias = align_up(static_cast<size_t>(layout_.padded_n()) * sizeof(float));
  a.total = a.rows + a.a + a.b;
  return a;
}

// Few products: their inside runs in parallel and each thread needs only row pointers. Many: one
// thread per product. Both give the same bits, so the choice may depend on the thread count.
size_t BatchedGemm::scratch_bytes(int threads) const {
  const Areas a = areas();
  return a.bias + (a.rows + a.a + a.b) * static_cast<size_t>(threads);
}

void BatchedGemm::prepare_b(const float* b, float* packed) const {
  const MatrixRef ref{b, shape_.b_stride_k, shape_.b_stride_n};
  pack_panels(*table_, layout_, 0, ref, packed, direct_b_ ? shape_.n / layout_.panel : 0);
}

const float* BatchedGemm::prepare_a(const float* a, float* copy) const {
  if (!copy_a_) return a;
  const int64_t m = shape_.m;
  const int64_t k = shape_.k;
  if (shape_.a_stride_m == 1 && shape_.a_stride_k != 1) {
    table_->transpose(a, shape_.a_stride_k, copy, k, k, m);
  } else {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        copy[i * k + j] = a[i * shape_.a_stride_m + j * shape_.a_stride_k];
  }
  if (alpha_ != 1.0F) {
    table_->unary[static_cast<size_t>(UnaryOp::Affine)](copy, copy, m * k, alpha_, 0.0F);
  }
  return copy;
}

PanelProduct BatchedGemm::product(const float* b, const float* packed, const float* bias,
                                  float* c) const {
  PanelProduct p;
  p.table = table_;
  p.layout = layout_;
  p.rows = shape_.m;
  p.b = packed;
  if (direct_b_) p.unpacked = {b, shape_.b_stride_k, 1};
  p.bias = bias;
  p.c = c;
  p.ldc = shape_.c_stride_m != 0 ? shape_.c_stride_m : shape_.n;
  p.epilogue = epilogue_;
  return p;
}

void BatchedGemm::run(const float* a, const float* b, const float* bias, float* c, ThreadPool& pool,
                      std::byte* scratch) const {
  const Areas area = areas();
  const float* padded_bias = nullptr;
  if (bias != nullptr) {
    auto* to = reinterpret_cast<float*>(scratch);
    std::copy(bias, bias + shape_.n, to);
    std::fill(to + shape_.n, to + layout_.padded_n(), 0.0F);
    padded_bias = to;
  }
  std::byte* rest = scratch + area.bias;
  const auto batch = static_cast<int64_t>(shape_.c_offsets.size());
  const int64_t lda = copy_a_ ? shape_.k : shape_.a_stride_m;

  const auto one = [&](int64_t i, ThreadPool& inner, std::byte* area_a, std::byte* rows) {
    const auto index = static_cast<size_t>(i);
    auto* copy = reinterpret_cast<float*>(area_a);
    auto* packed = reinterpret_cast<float*>(area_a + area.a);
    const float* left = prepare_a(a + shape_.a_offsets[index], copy);
    const float* right = b + shape_.b_offsets[index];
    prepare_b(right, packed);
    const PanelProduct p = product(right, packed, padded_bias, c + shape_.c_offsets[index]);
    run_product(p, MatrixRows(left, lda), inner, rows, area.rows);
  };

  if (pool.threads() == 1 || batch < pool.threads()) {
    for (int64_t i = 0; i < batch; ++i) one(i, pool, rest, rest + area.a + area.b);
    return;
  }
  pool.parallel_for(batch, [&](int64_t i, int thread) {
    std::byte* own = rest + static_cast<size_t>(thread) * area.total;
    ThreadPool serial(1);
    one(i, serial, own, own + area.a + area.b);
  });
}

}  // namespace ec::kernels
