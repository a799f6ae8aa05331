// What the integer operations on bytes are made of: packed weights, factors and biases, windows.
// Kernels give signed bytes: results of unsigned types are computed 128 lower and have their
// highest bit flipped at the end.
#pragma once

#include "ops/quantized/weighted_sum.h"
#include "ops/window.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

using kernels::kInt8Panel;
using kernels::kInt8Rows;
using quantized::Params;

// Scale and zero point of a tensor that is quantised as a whole.
std::optional<Params> params_of(const Tensor* tensor);

// Operands 0 and 1 and the result are of one type of bytes.
bool all_bytes(const OpInstance& op);
bool is_byte(int32_t zero_point, DType dtype);

// The difference between the stored value and the signed one whose highest bit is flipped.
inline int32_t offset_of(DType dtype) { return dtype == DType::U8 ? 128 : 0; }

void turn_highest_bits(int8_t* bytes, int64_t n);

inline const int8_t* bytes_of(const std::byte* p) { return reinterpret_cast<const int8_t*>(p); }
inline int8_t* bytes_of(std::byte* p) { return reinterpret_cast<int8_t*>(p); }

// The arrays behind a kernels::Requantize, padded to whole panels.
class Stage {
 public:
  explicit Stage(size_t columns)
      : columns_((columns + kInt8Panel - 1) / kInt8Panel * kInt8Panel),
        bias_(columns_),
        factor_(columns_),
        right_(columns_),
        half_(columns_),
        tie_(columns_) {}

  // False: the factor is above one, which needs a left shift.
  bool set_factor(size_t column, quantized::Multiplier m) {
    if (m.shift > 0) return false;
    const int32_t right = std::min(-m.shift, 31);
    factor_[column] = m.value;
    right_[column] = right;
    half_[column] = right > 0 ? int32_t{1} << (right - 1) : 0;
    tie_[column] = right > 0 ? 1 : 0;
    return true;
  }
  void set_bias(size_t column, int32_t bias) { bias_[column] = bias; }
  // Fully connected layers round products with real numbers instead.
  void set_reals(std::vector<double> reals) { reals_ = std::move(reals); }
  bool rounds_reals() const { return !reals_.empty(); }
  void finish_reals(const int32_t* sums, int64_t first, int64_t n, int8_t* y) const {
    for (int64_t i = 0; i < n; ++i) {
      const auto column = static_cast<size_t>(first + i);
      const double value = static_cast<double>(sums[i] + bias_[column]) * reals_[column];
      y[i] = static_cast<int8_t>(
          range_.clamp(int64_t{quantized::round_to_int32(value)} + zero_point_));
    }
  }
  void set_output(int32_t zero_point, quantized::Range range) {
    zero_point_ = zero_point;
    range_ = range;
  }
  kernels::Requantize view() const {
    return {bias_.data(), factor_.data(), right_.data(), half_.data(),
            tie_.data(),  zero_point_,    range_.low,    range_.high};
  }
  size_t bytes() const { return 5 * columns_ * sizeof(int32_t); }

 private:
  size_t columns_;
  std::vector<int32_t> bias_, factor_, right_, half_, tie_;
  std::vector<double> reals_;
  int32_t zero_point_ = 0;
  quantized::Range range_{-128, 127};
};

// Weights [columns, taps, depth] as signed bytes that stand for data - zero_point.
struct Weights {
  std::vector<int8_t> data;
  int64_t columns, taps, depth;
  int32_t zero_point;

  int64_t sum(int64_t column) const {
    int64_t total = 0;
    for (int64_t i = 0; i < taps * depth; ++i)
      total += data[static_cast<size_t>(column * taps * depth + i)];
    return total - int64_t{zero_point} * taps * depth;
  }
};

// Empty: their zero points differ, or the kernels cannot take them.
std::optional<Weights> weights_of(const OpInstance& op, int64_t columns, int64_t taps,
                                  int64_t depth);

struct Output {
  Activation activation;
  float alpha, beta;
};

// Factors and biases of a weighted sum of x + shift, where x are signed bytes: what the zero point
// and the shift add to every sum is taken off in the bias. Empty: a form for the op table's kernel.
std::optional<Stage> weighted_stage(const OpInstance& op, const Weights& w, int32_t shift,
                                    const Output& output);

// Input pixel under each tap of each output pixel; -1 in the padding.
struct Window {
  int64_t in_h, in_w, out_h, out_w;
  WindowDim rows, columns;

  int64_t taps() const { return rows.kernel * columns.kernel; }
  int64_t pixels() const { return out_h * out_w; }
  int64_t source(int64_t pixel, int64_t tap) const {
    const int64_t y =
        pixel / out_w * rows.stride - rows.pad_begin + tap / columns.kernel * rows.dilation;
    const int64_t x = pixel % out_w * columns.stride - columns.pad_begin +
                      tap % columns.kernel * columns.dilation;
    return y < 0 || y >= in_h || x < 0 || x >= in_w ? -1 : y * in_w + x;
  }
  // The sources of all pixels and taps: small beside the weights and the same for every image.
  std::vector<int64_t> sources() const {
    std::vector<int64_t> all;
    for (int64_t p = 0; p < pixels(); ++p)
      for (int64_t t = 0; t < taps(); ++t) all.push_back(source(p, t));
    return all;
  }
};

// The kernel's limit.
constexpr int64_t kMaxDepthwiseTaps = 64;

// A weighted sum of one batch of images, ready to run.
struct WeightedSum {
  Window window;
  int64_t batch;
  const Weights& weights;
  Stage stage;
  int32_t zero_point;  // of the input
  DType dtype;
};
Prepared integer_product(const PrepareContext& ctx, WeightedSum sum);
Prepared integer_depthwise(const PrepareContext& ctx, WeightedSum sum);

}  // namespace ec::prepare
