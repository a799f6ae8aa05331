// Quantised convolutions, matrix products and additions on bytes, bit by bit as the integer kernels
// of the op table compute them. Forms that are not taken here run those. Kernels give signed bytes:
// results of unsigned types are computed 128 lower and have their highest bit turned at the end.
#include <cstring>

#include "ops/quantized/weighted_sum.h"
#include "ops/window.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

using kernels::kInt8Panel;
using kernels::kInt8Rows;
using quantized::Params;

// Sums below this bound round without overflow.
constexpr int64_t kLargestSum = int64_t{1} << 30;

std::optional<Params> params_of(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->type().quant) return std::nullopt;
  const QuantParams& q = *tensor->type().quant;
  if (q.scales.size() != 1 || q.zero_points.size() != 1 || !(q.scales[0] > 0.0F))
    return std::nullopt;
  return Params{double{q.scales[0]}, q.zero_points[0]};
}

// What lies between the stored byte and the signed one with the same bits but the highest.
int32_t offset_of(DType dtype) { return dtype == DType::U8 ? 128 : 0; }

bool is_byte(int32_t zero_point, DType dtype) {
  const int32_t signed_one = zero_point - offset_of(dtype);
  return signed_one >= -128 && signed_one <= 127;
}

void turn_highest_bits(int8_t* bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) bytes[i] = static_cast<int8_t>(bytes[i] ^ -128);
}

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

// Empty: their zero points differ, or have no place here.
std::optional<Weights> weights_of(const OpInstance& op, int64_t columns, int64_t taps,
                                  int64_t depth) {
  const auto& q = op.op.input(1)->type().quant;
  const DType dtype = op.input(1).dtype;
  if (!q) return std::nullopt;
  const int32_t zero_point = q->zero_points.empty() ? 0 : q->zero_points[0];
  for (const int32_t other : q->zero_points)
    if (other != zero_point) return std::nullopt;
  // Signed weights are symmetric.
  if (!is_byte(zero_point, dtype) || (dtype == DType::I8 && zero_point != 0)) return std::nullopt;
  const auto* bytes = reinterpret_cast<const int8_t*>(op.input(1).constant);
  Weights w{
      {bytes, bytes + columns * taps * depth}, columns, taps, depth, zero_point - offset_of(dtype)};
  if (dtype == DType::U8) turn_highest_bits(w.data.data(), columns * taps * depth);
  return w;
}

struct Output {
  Activation activation;
  float alpha, beta;
};

// Factors and biases of a weighted sum of x + shift, where x are signed bytes: what the zero point
// and the shift add to every sum is taken off in the bias. Empty: a form for the op table's kernel.
std::optional<Stage> weighted_stage(const OpInstance& op, const Weights& w, int32_t shift,
                                    const Output& output) {
  const auto in = params_of(op.op.input(0)), out = params_of(op.op.output(0));
  const auto& q = op.op.input(1)->type().quant;
  const DType dtype = op.input(0).dtype;
  if (!in || !out || !q || !is_byte(in->zero_point, dtype)) return std::nullopt;
  const bool per_channel = q->scales.size() > 1;
  if (q->scales.empty() ||
      (per_channel && (q->axis != 0 || static_cast<int64_t>(q->scales.size()) != w.columns)))
    return std::nullopt;
  auto range =
      quantized::activation_range(output.activation, output.alpha, output.beta, *out, dtype);
  if (!range) return std::nullopt;
  const int32_t offset = offset_of(dtype);
  range->low -= offset;
  range->high -= offset;
  const bool has_bias = op.has(2);
  if (has_bias && (op.input(2).constant == nullptr || op.input(2).dtype != DType::I32 ||
                   op.input(2).count() != w.columns))
    return std::nullopt;
  const auto* bias = has_bias ? reinterpret_cast<const int32_t*>(op.input(2).constant) : nullptr;
  Stage stage(static_cast<size_t>(w.columns));
  for (int64_t c = 0; c < w.columns; ++c) {
    const auto column = static_cast<size_t>(c);
    const double scale = double{q->scales[per_channel ? column : 0]};
    const double real =
        quantized::real_factor(in->scale, scale, out->scale, !per_channel && dtype == DType::U8);
    if (!stage.set_factor(column, quantized::quantize_multiplier(real))) return std::nullopt;
    const int64_t start =
        (bias != nullptr ? bias[c] : 0) - (in->zero_point - offset + shift) * w.sum(c);
    if (std::abs(start) + w.taps * w.depth * 255 * 256 >= kLargestSum) return std::nullopt;
    stage.set_bias(column, static_cast<int32_t>(start));
  }
  stage.set_output(out->zero_point - offset, *range);
  return stage;
}

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

// All of one type of bytes.
bool all_bytes(const OpInstance& op) {
  const DType dtype = op.input(0).dtype;
  return (dtype == DType::I8 || dtype == DType::U8) && op.input(1).dtype == dtype &&
         op.output().dtype == dtype;
}
bool is_weighted(const OpInstance& op) {
  return all_bytes(op) && op.input(1).constant != nullptr && !op.has(3);
}

const int8_t* bytes_of(const std::byte* p) { return reinterpret_cast<const int8_t*>(p); }
int8_t* bytes_of(std::byte* p) { return reinterpret_cast<int8_t*>(p); }

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
};

// The product of rows of bytes with packed weights: each row of the result is a pixel whose input
// pixels are read through pointers.
class ProductOp final : public PreparedOp {
 public:
  ProductOp(const PrepareContext& ctx, Window window, int64_t batch, const Weights& w, Stage stage,
            int32_t zero_point, DType dtype)
      : table_(&ctx.table),
        window_(window),
        batch_(batch),
        depth_(w.depth),
        groups_((w.depth + 3) / 4),
        columns_(w.columns),
        threads_(ctx.threads),
        packed_(pack(w, groups_)),
        stage_(std::move(stage)),
        weight_zero_(w.zero_point),
        is_signed_(dtype == DType::I8),
        fill_(static_cast<uint8_t>(is_signed_ ? zero_point ^ -128 : zero_point)) {
    // Tables of sources are small beside the weights and the same for every image.
    for (int64_t p = 0; p < window_.pixels(); ++p)
      for (int64_t t = 0; t < window_.taps(); ++t) sources_.push_back(window_.source(p, t));
  }

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

  // What weights' zero point is taken times of.
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

class DepthwiseOp final : public PreparedOp {
 public:
  DepthwiseOp(const PrepareContext& ctx, Window window, int64_t batch, const Weights& w,
              Stage stage, int32_t zero_point, DType dtype)
      : table_(&ctx.table),
        window_(window),
        batch_(batch),
        channels_(w.columns),
        ld_((w.columns + kInt8Panel - 1) / kInt8Panel * kInt8Panel),
        weights_(static_cast<size_t>(w.taps * ld_), 0),
        stage_(std::move(stage)),
        is_signed_(dtype == DType::I8),
        padding_(static_cast<size_t>(ld_), static_cast<int8_t>(zero_point - offset_of(dtype))) {
    for (int64_t c = 0; c < w.columns; ++c)
      for (int64_t t = 0; t < w.taps; ++t)
        weights_[static_cast<size_t>(t * ld_ + c)] = static_cast<uint16_t>(
            static_cast<int16_t>(w.data[static_cast<size_t>(c * w.taps + t)] - w.zero_point));
    for (int64_t p = 0; p < window_.pixels(); ++p)
      for (int64_t t = 0; t < w.taps; ++t) sources_.push_back(window_.source(p, t));
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
    constexpr int64_t kMaxTaps = 64;
    const int64_t n = task / window_.out_h, taps = window_.taps();
    const int8_t* image = x + n * window_.in_h * window_.in_w * channels_;
    const int8_t* pointers[kMaxTaps];
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

constexpr int64_t kMaxDepthwiseTaps = 64;
// Tables of sources beyond this cost more memory than they save time.
constexpr int64_t kMaxSources = int64_t{1} << 22;

}  // namespace

Prepared integer_conv(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<ConvAttrs>();
  if (!is_weighted(op) || attrs.layout != Layout::ChannelsLast || op.input(0).rank() != 4)
    return nullptr;
  const auto& x = op.input(0).shape;
  const auto& w = op.input(1).shape;
  const auto& y = op.output().shape;
  const auto windows = resolve_windows(window_spec(attrs, spatial_sizes(attrs.layout, w)),
                                       spatial_sizes(attrs.layout, x));
  const Window window{x[1], x[2], y[1], y[2], windows[0], windows[1]};
  if (window.pixels() * window.taps() > kMaxSources) return nullptr;
  const auto weights = weights_of(op, w[0], w[1] * w[2], w[3]);
  const Output output{attrs.activation, attrs.act_alpha, attrs.act_beta};
  const auto in = params_of(op.op.input(0));
  if (!in || !weights) return nullptr;
  const bool depthwise = attrs.groups > 1 && attrs.groups == x[3] && y[3] == x[3];
  if (attrs.groups != 1 && (!depthwise || weights->taps > kMaxDepthwiseTaps)) return nullptr;
  // The dense kernel reads x + 128 as unsigned bytes, the depthwise one the bytes as they are.
  auto stage = weighted_stage(op, *weights, depthwise ? 0 : 128, output);
  if (!stage) return nullptr;
  const DType dtype = op.input(0).dtype;
  if (depthwise)
    return std::make_unique<DepthwiseOp>(ctx, window, x[0], *weights, std::move(*stage),
                                         in->zero_point, dtype);
  return std::make_unique<ProductOp>(ctx, window, x[0], *weights, std::move(*stage), in->zero_point,
                                     dtype);
}

Prepared integer_gemm(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<GemmAttrs>();
  const auto in = params_of(op.op.input(0));
  if (!is_weighted(op) || !in || attrs.transpose_a || !attrs.transpose_b || attrs.alpha != 1.0F ||
      attrs.beta != 1.0F)
    return nullptr;
  const auto& w = op.input(1).shape;
  const auto weights = weights_of(op, w[0], 1, w[1]);
  if (!weights) return nullptr;
  auto stage =
      weighted_stage(op, *weights, 128, {attrs.activation, attrs.act_alpha, attrs.act_beta});
  if (!stage) return nullptr;
  const double out_scale = params_of(op.op.output(0))->scale;
  const auto& scales = op.op.input(1)->type().quant->scales;
  std::vector<double> reals;
  for (size_t c = 0; c < static_cast<size_t>(w[0]); ++c)
    reals.push_back(in->scale * double{scales[scales.size() > 1 ? c : 0]} / out_scale);
  stage->set_reals(std::move(reals));
  // Rows are pixels of an image one high.
  WindowDim one, across;
  one.input = one.output = 1;
  across.input = across.output = op.input(0).shape[0];
  const Window window{1, across.input, 1, across.output, one, across};
  return std::make_unique<ProductOp>(ctx, window, 1, *weights, std::move(*stage), in->zero_point,
                                     op.input(0).dtype);
}

// Each operand on the common scale comes out of a table of its 256 values.
Prepared integer_add(const OpInstance& op, const PrepareContext& ctx) {
  const auto a = params_of(op.op.input(0)), b = params_of(op.op.input(1)),
             out = params_of(op.op.output(0));
  if (!a || !b || !out || !all_bytes(op) || op.input(0).shape != op.output().shape) return nullptr;
  const bool is_signed = op.output().dtype == DType::I8;
  const bool single = op.input(1).count() == 1;
  if (!single && op.input(1).shape != op.output().shape) return nullptr;
  constexpr int kBits = 20;
  const double twice = 2 * std::max(a->scale, b->scale);
  const auto table_of = [&](const Params& p) {
    const quantized::Multiplier m = quantized::quantize_multiplier(p.scale / twice);
    std::vector<int32_t> table;
    // By the bits of the byte, read as a signed one.
    for (int32_t v = -128; v < 128; ++v) {
      const int32_t stored = is_signed || v >= 0 ? v : v + 256;
      table.push_back(quantized::multiply(quantized::shift_left(stored - p.zero_point, kBits), m));
    }
    return table;
  };
  Stage stage(1);
  const auto factor =
      quantized::quantize_multiplier(twice / (static_cast<double>(1 << kBits) * out->scale));
  for (size_t i = 0; i < static_cast<size_t>(kInt8Panel); ++i)
    if (!stage.set_factor(i, factor)) return nullptr;
  stage.set_output(out->zero_point - offset_of(op.output().dtype), {-128, 127});
  const kernels::KernelTable* table = &ctx.table;
  const int64_t count = op.output().count();
  return make_op(
      [table, stage, count, single, is_signed, ta = table_of(*a),
       tb = table_of(*b)](const RunArgs& args) {
        constexpr int64_t kRun = 1 << 14;
        const kernels::Requantize q = stage.view();
        args.pool.parallel_for((count + kRun - 1) / kRun, [&](int64_t task, int) {
          const int64_t first = task * kRun;
          table->int8_add(
              {bytes_of(args.inputs[0]) + first, bytes_of(args.inputs[1]) + (single ? 0 : first),
               single ? 0 : 1, ta.data(), tb.data(), bytes_of(args.outputs[0]) + first,
               std::min(kRun, count - first)},
              q);
          if (!is_signed)
            turn_highest_bits(bytes_of(args.outputs[0]) + first, std::min(kRun, count - first));
        });
      },
      0, 0b11);
}

}  // namespace ec::prepare
