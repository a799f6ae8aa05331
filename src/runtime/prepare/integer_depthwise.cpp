// Depthwise convolutions on bytes.
#include <cstring>

#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

class DepthwiseOp final : public PreparedOp {
 public:
  DepthwiseOp(const PrepareContext& ctx, WeightedSum sum)
      : table_(&ctx.table),
        window_(sum.window),
        batch_(sum.batch),
        channels_(sum.weights.columns),
        ld_((channels_ + kInt8Panel - 1) / kInt8Panel * kInt8Panel),
        weights_(static_cast<size_t>(sum.weights.taps * ld_), 0),
        stage_(std::move(sum.stage)),
        is_signed_(sum.dtype == DType::I8),
        padding_(static_cast<size_t>(ld_),
                 static_cast<int8_t>(sum.zero_point - offset_of(sum.dtype))),
        sources_(window_.sources()) {
    const Weights& w = sum.weights;
    for (int64_t c = 0; c < w.columns; ++c)
      for (int64_t t = 0; t < w.taps; ++t)
        weights_[static_cast<size_t>(t * ld_ + c)] = static_cast<uint16_t>(
            static_cast<int16_t>(w.data[static_cast<size_t>(c * w.taps + t)] - w.zero_point));
  }

  size_t packed_bytes() const override {
    return weights_.size() * 4 + stage_.bytes() + sources_.size() * sizeof(int64_t);
  }

  size_t scratch_bytes() const override {
    return is_signed_ ? 0 : static_cast<size_t>(image_bytes());
  }

  Status run(const RunArgs& args) override {
    const kernels::Requantize q = stage_.view();
    const int8_t* x = bytes_of(args.inputs[0]);
    if (!is_signed_) {
      int8_t* turned = bytes_of(args.scratch);
      std::memcpy(turned, x, static_cast<size_t>(image_bytes()));
      turn_highest_bits(turned, image_bytes());
      x = turned;
    }
    int8_t* y = bytes_of(args.outputs[0]);
    args.pool.parallel_for(batch_ * window_.out_h, [&](int64_t task, int) { row(x, y, task, q); });
    return {};
  }

 private:
  void row(const int8_t* x, int8_t* y, int64_t task, const kernels::Requantize& q) const {
    const int64_t n = task / window_.out_h, taps = window_.taps();
    const int8_t* image = x + n * window_.in_h * window_.in_w * channels_;
    const int8_t* pointers[kMaxDepthwiseTaps];
    for (int64_t c = 0; c < window_.out_w; ++c) {
      const int64_t pixel = task % window_.out_h * window_.out_w + c;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t source = sources_[static_cast<size_t>(pixel * taps + t)];
        pointers[t] = source < 0 ? padding_.data() : image + source * channels_;
      }
      table_->int8_depthwise({pointers, taps, weights_.data(), ld_, channels_,
                              y + (n * window_.pixels() + pixel) * channels_},
                             q);
    }
    if (is_signed_) return;
    const int64_t first = n * window_.pixels() + task % window_.out_h * window_.out_w;
    turn_highest_bits(y + first * channels_, window_.out_w * channels_);
  }
  int64_t image_bytes() const { return batch_ * window_.in_h * window_.in_w * channels_; }

  const kernels::KernelTable* table_;
  Window window_;
  int64_t batch_, channels_, ld_;
  std::vector<int32_t> weights_;
  Stage stage_;
  bool is_signed_;
  std::vector<int8_t> padding_;
  std::vector<int64_t> sources_;
};

}  // namespace

Prepared integer_depthwise(const PrepareContext& ctx, WeightedSum sum) {
  return std::make_unique<DepthwiseOp>(ctx, std::move(sum));
}

}  // namespace ec::prepare
