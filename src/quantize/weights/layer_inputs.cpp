#include "quantize/weights/layer_inputs.h"

#include <algorithm>

#include "ops/op_def.h"
#include "ops/window.h"
#include "runtime/executor.h"
#include "runtime/kernels/gemm.h"

namespace ec::quantize {
namespace {

// Copies what one layer reads at a position of its window.
class Window {
 public:
  Window(const Operation& op, const WeightRows& rows) : rows_(rows) {
    const std::vector<int64_t> shape = op.input(0)->shape()->sizes();
    channels_ = static_cast<size_t>(shape.back());
    if (op.kind() != OpKind::Conv) {
      for (size_t d = 0; d + 1 < shape.size(); ++d) positions_ *= shape[d];
      return;
    }
    const std::vector<int64_t> weights = op.input(1)->shape()->sizes();
    const int64_t kernel[] = {weights[1], weights[2]}, sizes[] = {shape[1], shape[2]};
    dims_ = resolve_windows(window_spec(op.attrs_as<ConvAttrs>(), kernel), sizes);
    positions_ = shape[0] * dims_[0].output * dims_[1].output;
  }

  int64_t positions() const { return positions_; }
  size_t values() const { return rows_.groups * rows_.depth; }

  // [groups, depth]; padding is zero.
  void copy(std::span<const float> input, int64_t position, float* out) const {
    if (dims_.empty()) {
      std::copy_n(input.data() + static_cast<size_t>(position) * channels_, channels_, out);
      return;
    }
    const WindowDim &high = dims_[0], &wide = dims_[1];
    const int64_t x = position % wide.output, y = position / wide.output % high.output;
    const int64_t image = position / wide.output / high.output;
    const size_t per_group = channels_ / rows_.groups;
    std::fill_n(out, values(), 0.0f);
    const auto [first_y, last_y] = high.taps(y);
    const auto [first_x, last_x] = wide.taps(x);
    for (int64_t ky = first_y; ky < last_y; ++ky)
      for (int64_t kx = first_x; kx < last_x; ++kx) {
        const int64_t iy = y * high.stride - high.pad_begin + ky * high.dilation;
        const int64_t ix = x * wide.stride - wide.pad_begin + kx * wide.dilation;
        const auto at = static_cast<size_t>((image * high.input + iy) * wide.input + ix);
        const auto tap = static_cast<size_t>(ky * wide.kernel + kx);
        for (size_t g = 0; g < rows_.groups; ++g)
          std::copy_n(input.data() + at * channels_ + g * per_group, per_group,
                      out + g * rows_.depth + tap * per_group);
      }
  }

 private:
  const WeightRows rows_;
  std::vector<WindowDim> dims_;  // of a convolution
  size_t channels_ = 0;
  int64_t positions_ = 1;
};

class Moments {
 public:
  Moments(const Operation& op, size_t per_sample, kernels::ThreadPool& pool)
      : rows_(*weight_rows(op)), window_(op, rows_), pool_(pool) {
    chosen_ = std::min(window_.positions(), static_cast<int64_t>(per_sample));
    result_.depth = rows_.depth;
    result_.mean.assign(window_.values(), 0.0);
    result_.covariance.assign(window_.values() * rows_.depth, 0.0f);
  }

  void see(std::span<const float> input) {
    patches_.resize(static_cast<size_t>(chosen_) * window_.values());
    for (int64_t i = 0; i < chosen_; ++i) {
      // Evenly, and not always in the same column.
      const int64_t position = i * window_.positions() / chosen_ + turn_ % step();
      window_.copy(input, position, patches_.data() + static_cast<size_t>(i) * window_.values());
    }
    ++turn_;
    result_.positions += static_cast<size_t>(chosen_);
    for (size_t i = 0; i < patches_.size(); ++i)
      result_.mean[i % window_.values()] += static_cast<double>(patches_[i]);
    if (rows_.groups == 1)
      add_products();
    else
      add_products_of_groups();
  }

  InputMoments finish() {
    const auto n = static_cast<double>(std::max<size_t>(1, result_.positions));
    for (double& mean : result_.mean) mean /= n;
    for (size_t g = 0; g < rows_.groups; ++g)
      for (size_t i = 0; i < rows_.depth; ++i) {
        const double* mean = result_.mean.data() + g * rows_.depth;
        float* line = result_.covariance.data() + (g * rows_.depth + i) * rows_.depth;
        for (size_t j = 0; j < rows_.depth; ++j)
          line[j] = static_cast<float>(static_cast<double>(line[j]) / n - mean[i] * mean[j]);
      }
    return std::move(result_);
  }

 private:
  int64_t step() const { return std::max<int64_t>(1, window_.positions() / chosen_); }

  void add_products() {
    const auto depth = static_cast<int64_t>(rows_.depth);
    kernels::BatchedGemmShape shape;
    shape.m = shape.n = shape.b_stride_k = shape.a_stride_k = depth;
    shape.a_stride_m = 1;
    shape.k = chosen_;
    shape.a_offsets = shape.b_offsets = shape.c_offsets = {0};
    const kernels::BatchedGemm gemm(kernels::kernel_table(kernels::best_isa()), shape, 1.0f, {});
    const size_t bytes = gemm.scratch_bytes(pool_.threads());
    if (scratch_.size() < bytes) scratch_ = kernels::AlignedBuffer<std::byte>(bytes);
    products_.resize(result_.covariance.size());
    gemm.run(patches_.data(), patches_.data(), nullptr, products_.data(), pool_, scratch_.data());
    for (size_t i = 0; i < products_.size(); ++i) result_.covariance[i] += products_[i];
  }

  void add_products_of_groups() {
    for (int64_t p = 0; p < chosen_; ++p)
      for (size_t g = 0; g < rows_.groups; ++g) {
        const float* patch =
            patches_.data() + (static_cast<size_t>(p) * rows_.groups + g) * rows_.depth;
        float* sums = result_.covariance.data() + g * rows_.depth * rows_.depth;
        for (size_t i = 0; i < rows_.depth; ++i)
          for (size_t j = 0; j < rows_.depth; ++j) sums[i * rows_.depth + j] += patch[i] * patch[j];
      }
  }

  const WeightRows rows_;
  const Window window_;
  kernels::ThreadPool& pool_;
  int64_t chosen_ = 0, turn_ = 0;
  std::vector<float> patches_, products_;
  kernels::AlignedBuffer<std::byte> scratch_;
  InputMoments result_;
};

}  // namespace

std::optional<WeightRows> weight_rows(const Operation& op) {
  const Tensor* weights = op.input(1);
  if (weights == nullptr || !weights->is_constant() || weights->dtype() != DType::F32 ||
      !op.input(0)->type().is_static())
    return std::nullopt;
  const std::vector<int64_t> shape = weights->shape()->sizes();
  WeightRows rows;
  const auto linear = [&](bool transpose_a, bool transpose_b) -> std::optional<WeightRows> {
    if (shape.size() != 2 || transpose_a) return std::nullopt;
    rows.transposed = !transpose_b;
    rows.rows = static_cast<size_t>(shape[transpose_b ? 0 : 1]);
    rows.depth = static_cast<size_t>(shape[transpose_b ? 1 : 0]);
    return rows;
  };
  switch (op.kind()) {
    case OpKind::Conv:
      if (op.attrs_as<ConvAttrs>().layout != Layout::ChannelsLast || shape.size() != 4)
        return std::nullopt;
      rows.groups = static_cast<size_t>(op.attrs_as<ConvAttrs>().groups);
      rows.rows = static_cast<size_t>(shape[0]);
      rows.depth = static_cast<size_t>(shape[1] * shape[2] * shape[3]);
      return rows;
    case OpKind::Gemm:
      return linear(op.attrs_as<GemmAttrs>().transpose_a, op.attrs_as<GemmAttrs>().transpose_b);
    case OpKind::MatMul:
      return linear(op.attrs_as<MatMulAttrs>().transpose_a, op.attrs_as<MatMulAttrs>().transpose_b);
    default:
      return std::nullopt;
  }
}

Result<std::vector<InputMoments>> layer_inputs(const Graph& graph,
                                               std::span<const Operation* const> layers,
                                               SampleSource& source,
                                               std::span<const size_t> samples,
                                               const LayerInputsOptions& options) {
  const auto pool = std::make_shared<kernels::ThreadPool>(options.threads);
  const size_t per_sample =
      std::max<size_t>(1, options.positions / std::max<size_t>(1, samples.size()));
  std::vector<Moments> moments;
  std::vector<std::vector<size_t>> readers(graph.tensor_id_bound());
  for (const Operation* op : layers) {
    readers[op->input(0)->id()].push_back(moments.size());
    moments.emplace_back(*op, per_sample, *pool);
  }
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  const auto see = [&](const Tensor& tensor, const ConstView& value) {
    if (value.dtype != DType::F32) return;
    for (const size_t layer : readers[tensor.id()]) moments[layer].see(value.as<float>());
  };
  ExecutorOptions executor_options;
  executor_options.observer = see;
  EC_TRY(const std::unique_ptr<Executor> executor,
         Executor::create(graph, types, executor_options, pool));
  for (const size_t sample : samples) {
    EC_TRY(const std::vector<Value> values, source.read(sample));
    std::vector<ConstView> views;
    for (size_t i = 0; i < values.size(); ++i) {
      views.push_back(values[i].view());
      see(*graph.inputs()[i], views.back());
    }
    EC_CHECK_OK(executor->run(views));
  }
  std::vector<InputMoments> result;
  for (Moments& layer : moments) result.push_back(layer.finish());
  return result;
}

}  // namespace ec::quantize
