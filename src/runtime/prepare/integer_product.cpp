// Dense convolutions and matrix products on bytes.
#include <cstring>

#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

// Panels of kInt8Panel columns: [panel][tap][group][column][4], zero behind the last column and the
// last of the depth.
std::vector<int8_t> pack(const Weights& w, int64_t groups) {
  const int64_t panels = (w.columns + kInt8Panel - 1) / kInt8Panel;
  std::vector<int8_t> packed(static_cast<size_t>(panels * w.taps * groups * kInt8Panel * 4), 0);
  for (int64_t c = 0; c < w.columns; ++c)
    for (int64_t t = 0; t < w.taps; ++t)
      for (int64_t k = 0; k < w.depth; ++k) {
        const int64_t group = (c / kInt8Panel * w.taps + t) * groups + k / 4;
        packed[static_cast<size_t>((group * kInt8Panel + c % kInt8Panel) * 4 + k % 4)] =
            w.data[static_cast<size_t>((c * w.taps + t) * w.depth + k)];
      }
  return packed;
}

// The product of rows of bytes with packed weights: each row of the result is a pixel whose input
// pixels are read through pointers.
class ProductOp final : public PreparedOp {
 public:
  ProductOp(const PrepareContext& ctx, WeightedSum sum)
      : table_(&ctx.table),
        window_(sum.window),
        batch_(sum.batch),
        depth_(sum.weights.depth),
        groups_((depth_ + 3) / 4),
        columns_(sum.weights.columns),
        threads_(ctx.threads),
        packed_(pack(sum.weights, groups_)),
        stage_(std::move(sum.stage)),
        weight_zero_(sum.weights.zero_point),
        is_signed_(sum.dtype == DType::I8),
        fill_(static_cast<uint8_t>(is_signed_ ? sum.zero_point ^ -128 : sum.zero_point)),
        sources_(window_.sources()) {}

  size_t scratch_bytes() const override {
    return image_bytes() + static_cast<size_t>(threads_) * thread_bytes();
  }
  size_t packed_bytes() const override {
    return packed_.size() + stage_.bytes() + sources_.size() * sizeof(int64_t);
  }

  Status run(const RunArgs& args) override {
    auto* x = reinterpret_cast<uint8_t*>(args.scratch);
    unsign(bytes_of(args.inputs[0]), x);
    const int64_t pixels = window_.pixels(), blocks = (pixels + kInt8Rows - 1) / kInt8Rows;
    const kernels::Requantize q = stage_.view();
    args.pool.parallel_for(batch_ * blocks, [&](int64_t task, int thread) {
      const int64_t n = task / blocks, first = task % blocks * kInt8Rows;
      std::byte* own = args.scratch + image_bytes() + static_cast<size_t>(thread) * thread_bytes();
      block(x, n, first, std::min(kInt8Rows, pixels - first), own, q,
            bytes_of(args.outputs[0]) + (n * pixels + first) * columns_);
    });
    return {};
  }

 private:
  int64_t in_pixels() const { return window_.in_h * window_.in_w; }
  // All pixels of all images, then one of padding.
  size_t image_bytes() const {
    return align_up(static_cast<size_t>((batch_ * in_pixels() + 1) * groups_ * 4));
  }
  size_t thread_bytes() const {
    return align_up(static_cast<size_t>(window_.taps() * kInt8Rows) * sizeof(uint8_t*)) +
           align_up(static_cast<size_t>(kInt8Rows * kInt8Panel) * sizeof(int32_t));
  }

  // The bytes as unsigned ones, in whole groups.
  void unsign(const int8_t* from, uint8_t* to) const {
    const int64_t pixels = batch_ * in_pixels(), step = groups_ * 4;
    const int turned = is_signed_ ? -128 : 0;
    if (step == depth_) {
      for (int64_t i = 0; i < pixels * depth_; ++i) to[i] = static_cast<uint8_t>(from[i] ^ turned);
    } else {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t k = 0; k < depth_; ++k)
          to[p * step + k] = static_cast<uint8_t>(from[p * depth_ + k] ^ turned);
        for (int64_t k = depth_; k < step; ++k) to[p * step + k] = 0;
      }
    }
    std::memset(to + pixels * step, fill_, static_cast<size_t>(step));
  }

  void block(const uint8_t* x, int64_t n, int64_t first, int64_t rows, std::byte* own,
             const kernels::Requantize& q, int8_t* y) const {
    const int64_t taps = window_.taps(), step = groups_ * 4;
    auto** pointers = reinterpret_cast<const uint8_t**>(own);
    auto* sums = reinterpret_cast<int32_t*>(
        own + align_up(static_cast<size_t>(taps * kInt8Rows) * sizeof(uint8_t*)));
    const uint8_t* padding = x + batch_ * in_pixels() * step;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t source = sources_[static_cast<size_t>((first + r) * taps + t)];
        pointers[t * rows + r] = source < 0 ? padding : x + (n * in_pixels() + source) * step;
      }
    int32_t row_sums[kInt8Rows] = {};
    if (weight_zero_ != 0) sum_rows(pointers, rows, row_sums);
    for (int64_t c = 0; c < columns_; c += kInt8Panel) {
      const int64_t wanted = std::min(kInt8Panel, columns_ - c);
      table_->int8_tile(
          {pointers, rows, taps, groups_, packed_.data() + c * taps * groups_ * 4, sums, wanted});
      for (int64_t r = 0; weight_zero_ != 0 && r < rows; ++r)
        for (int64_t i = 0; i < wanted; ++i) sums[r * kInt8Panel + i] -= weight_zero_ * row_sums[r];
      for (int64_t r = 0; stage_.rounds_reals() && r < rows; ++r)
        stage_.finish_reals(sums + r * kInt8Panel, c, wanted, y + r * columns_ + c);
      for (int64_t r = 0; !stage_.rounds_reals() && r < rows; ++r)
        table_->int8_requantize(sums + r * kInt8Panel, c, wanted, q, y + r * columns_ + c);
    }
    if (!is_signed_) turn_highest_bits(y, rows * columns_);
  }

  // Sums of the rows of x, which the zero point of the weights is multiplied by.
  void sum_rows(const uint8_t* const* pointers, int64_t rows, int32_t* row_sums) const {
    for (int64_t t = 0; t < window_.taps(); ++t)
      for (int64_t r = 0; r < rows; ++r) {
        const uint8_t* x = pointers[t * rows + r];
        int32_t sum = 0;
        for (int64_t k = 0; k < depth_; ++k) sum += x[k];
        row_sums[r] += sum;
      }
  }

  const kernels::KernelTable* table_;
  Window window_;
  int64_t batch_, depth_, groups_, columns_;
  int threads_;
  std::vector<int8_t> packed_;
  Stage stage_;
  int32_t weight_zero_;
  bool is_signed_;
  uint8_t fill_;
  std::vector<int64_t> sources_;
};

}  // namespace

Prepared integer_product(const PrepareContext& ctx, WeightedSum sum) {
  return std::make_unique<ProductOp>(ctx, std::move(sum));
}

}  // namespace ec::prepare
