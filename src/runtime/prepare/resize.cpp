// Resampling of f32 images: the tap lists are made once, then each axis is a sum of weighted rows.
#include "ops/resize_taps.h"

#include <cstring>

#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

enum : size_t { kX, kRoi, kScales, kSizes };

// One axis to resample; what lies inside it moves as one row.
struct AxisStep {
  int64_t outer = 1, input = 1, output = 1, inner = 1;
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<float> weight;

  int64_t in_count() const { return outer * input * inner; }
  int64_t out_count() const { return outer * output * inner; }
};

std::optional<ConstView> constant_view(const OpInstance& op, size_t i) {
  if (!op.has(i) || op.input(i).count() == 0) return std::nullopt;
  return ConstView{op.input(i).dtype, op.input(i).shape, op.input(i).constant, nullptr};
}

void run_nearest(const AxisStep& s, const float* x, float* y, kernels::ThreadPool& pool) {
  const auto bytes = static_cast<size_t>(s.inner) * sizeof(float);
  pool.parallel_for(s.outer, [&](int64_t o, int) {
    const float* from = x + o * s.input * s.inner;
    float* to = y + o * s.output * s.inner;
    for (int64_t i = 0; i < s.output; ++i, to += s.inner) {
      const float* row = from + s.index[static_cast<size_t>(i)] * s.inner;
      if (s.inner == 1) {
        *to = *row;
      } else {
        std::memcpy(to, row, bytes);
      }
    }
  });
}

// Rows of one value: plain sums.
void run_scalar(const AxisStep& s, const float* x, float* y, kernels::ThreadPool& pool) {
  pool.parallel_for(s.outer, [&](int64_t o, int) {
    const float* from = x + o * s.input;
    float* to = y + o * s.output;
    size_t entry = 0;
    for (int64_t i = 0; i < s.output; ++i) {
      float sum = 0.0F;
      for (int64_t t = 0; t < s.taps; ++t, ++entry) sum += s.weight[entry] * from[s.index[entry]];
      to[i] = sum;
    }
  });
}

constexpr int64_t kMaxTaps = 64;

void run_weighted(const kernels::KernelTable& table, const AxisStep& s, const float* x, float* y,
                  kernels::ThreadPool& pool) {
  pool.parallel_for(s.outer * s.output, [&](int64_t task, int) {
    const float* rows[kMaxTaps];
    const int64_t i = task % s.output;
    const float* from = x + task / s.output * s.input * s.inner;
    const auto first = static_cast<size_t>(i * s.taps);
    for (int64_t t = 0; t < s.taps; ++t)
      rows[t] = from + s.index[first + static_cast<size_t>(t)] * s.inner;
    table.gather_weighted(rows, s.weight.data() + first, s.taps, y + task * s.inner, s.inner);
  });
}

void run_step(const kernels::KernelTable& table, const AxisStep& s, bool nearest, const float* x,
              float* y, kernels::ThreadPool& pool) {
  if (nearest) return run_nearest(s, x, y, pool);
  if (s.inner == 1) return run_scalar(s, x, y, pool);
  run_weighted(table, s, x, y, pool);
}

// The axes that change, shrinking ones first: no intermediate is larger than input or result.
std::optional<std::vector<AxisStep>> steps_of(const OpInstance& op,
                                              std::span<const ResizeAxis> axes) {
  const auto& attrs = op.attrs<ResizeAttrs>();
  std::vector<size_t> order;
  for (size_t d = 0; d < axes.size(); ++d)
    if (!axes[d].is_identity(attrs.coordinates)) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (axes[a].output <= axes[a].input) > (axes[b].output <= axes[b].input);
  });
  std::vector<int64_t> shape = op.input(kX).shape;
  std::vector<AxisStep> steps;
  for (const size_t d : order) {
    if (!has_small_taps(attrs, axes[d])) return std::nullopt;
    const ResizeTaps taps = resize_taps(attrs, axes[d]);
    if (!taps.outside.empty() || taps.per_output > kMaxTaps) return std::nullopt;
    AxisStep s;
    s.outer = product(std::span(shape).first(d));
    s.inner = product(std::span(shape).subspan(d + 1));
    s.input = axes[d].input;
    s.output = axes[d].output;
    s.taps = taps.per_output;
    s.index = taps.index;
    for (const double w : taps.weight) s.weight.push_back(static_cast<float>(w));
    shape[d] = s.output;
    steps.push_back(std::move(s));
  }
  return steps;
}

}  // namespace

Prepared resize(const OpInstance& op, const PrepareContext& ctx) {
  if (!op.input(kX).is_f32()) return nullptr;
  for (const size_t i : {kRoi, kScales, kSizes})
    if (op.has(i) && op.input(i).count() > 0 && op.input(i).constant == nullptr) return nullptr;
  const auto roi = constant_view(op, kRoi);
  const auto scales = constant_view(op, kScales);
  const auto sizes = constant_view(op, kSizes);
  const auto& attrs = op.attrs<ResizeAttrs>();
  const auto axes = resize_axes(attrs, op.input(kX).shape, op.output().shape, roi ? &*roi : nullptr,
                                scales ? &*scales : nullptr, sizes ? &*sizes : nullptr);
  auto steps = steps_of(op, axes);
  if (!steps || steps->empty()) return nullptr;
  // Two intermediates take turns.
  size_t largest = 0;
  for (const AxisStep& s : *steps)
    largest = std::max(largest, align_up(static_cast<size_t>(s.out_count()) * sizeof(float)));
  const bool nearest = attrs.mode == ResizeMode::Nearest;
  const kernels::KernelTable* table = &ctx.table;
  const size_t scratch = steps->size() > 1 ? largest * std::min<size_t>(2, steps->size() - 1) : 0;
  return make_op(
      [steps = std::move(*steps), nearest, table, largest](const RunArgs& args) {
        const float* from = args.in(kX);
        for (size_t i = 0; i < steps.size(); ++i) {
          const bool last = i + 1 == steps.size();
          auto* to = last ? args.out() : reinterpret_cast<float*>(args.scratch + i % 2 * largest);
          run_step(*table, steps[i], nearest, from, to, args.pool);
          from = to;
        }
      },
      scratch);
}

}  // namespace ec::prepare
