// Softmax, normalisation and reductions along rows.
#include <cmath>

#include "runtime/kernels/elementwise.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

int64_t tail(const OperandInfo& info, size_t axis) {
  return product(std::span(info.shape).subspan(axis));
}

// Rows per task, so that a task is worth handing out.
int64_t rows_per_task(int64_t n) { return std::max<int64_t>(1, 8192 / n); }

// f(first row, number of rows)
template <class F>
void for_blocks(kernels::ThreadPool& pool, int64_t rows, int64_t n, F&& f) {
  const int64_t per_task = rows_per_task(n);
  pool.parallel_for((rows + per_task - 1) / per_task, [&](int64_t task, int) {
    const int64_t first = task * per_task;
    f(first, std::min(per_task, rows - first));
  });
}

template <class F>
void for_rows(kernels::ThreadPool& pool, int64_t rows, int64_t n, F&& f) {
  for_blocks(pool, rows, n, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) f(r);
  });
}

// Sizes before, within and behind a run of axes; empty if the axes are no run.
struct Split3 {
  int64_t outer = 1, middle = 1, inner = 1;
};

std::optional<Split3> split_axes(const OperandInfo& x, std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis = static_cast<int64_t>(axis_of(axis, x.rank()));
  std::sort(axes.begin(), axes.end());
  Split3 s;
  size_t next = 0;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    if (reduced) {
      // Between two reduced axes only sizes of 1 may lie.
      if (s.inner != 1 && next > 0) return std::nullopt;
      s.middle *= x.shape[d];
      ++next;
    } else if (next == 0) {
      s.outer *= x.shape[d];
    } else {
      s.inner *= x.shape[d];
    }
  }
  return s;
}

// Softmax along an axis with others inside it: the rows inside are treated as vectors.
Prepared column_softmax(int64_t outer, int64_t n, int64_t inner, const PrepareContext& ctx) {
  const kernels::KernelTable* table = &ctx.table;
  const size_t pointers = align_up(static_cast<size_t>(n) * sizeof(const float*));
  const size_t row = align_up(static_cast<size_t>(inner) * sizeof(float));
  const size_t stride = pointers + row;
  return make_op(
      [=](const RunArgs& args) {
        args.pool.parallel_for(outer, [&](int64_t o, int thread) {
          std::byte* scratch = args.scratch + static_cast<size_t>(thread) * stride;
          auto** rows = reinterpret_cast<const float**>(scratch);
          auto* total = reinterpret_cast<float*>(scratch + pointers);
          const float* x = args.in(0) + o * n * inner;
          float* y = args.out() + o * n * inner;
          for (int64_t i = 0; i < n; ++i) rows[i] = x + i * inner;
          table->gather_max(rows, n, total, inner);
          const auto sub = table->binary[static_cast<size_t>(kernels::BinaryOp::Sub)].vv;
          const auto div = table->binary[static_cast<size_t>(kernels::BinaryOp::Div)].vv;
          for (int64_t i = 0; i < n; ++i) sub(x + i * inner, total, y + i * inner, inner);
          table->unary[static_cast<size_t>(kernels::UnaryOp::Exp)](y, y, n * inner, 0.0F, 0.0F);
          for (int64_t i = 0; i < n; ++i) rows[i] = y + i * inner;
          table->gather_sum(rows, n, total, inner, 1.0F);
          for (int64_t i = 0; i < n; ++i) div(y + i * inner, total, y + i * inner, inner);
        });
      },
      stride * static_cast<size_t>(ctx.threads), 0b1);
}

}  // namespace

Prepared softmax(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  if (!x.is_f32() || x.rank() == 0) return nullptr;
  const size_t axis = axis_of(op.attrs<AxisAttrs>().axis, x.rank());
  const int64_t n = x.shape[axis];
  const int64_t inner = tail(x, axis) / n;
  const int64_t rows = x.count() / n;
  const bool logarithm = op.op.kind() == OpKind::LogSoftmax;
  const kernels::KernelTable* table = &ctx.table;
  if (inner != 1) {
    if (logarithm) return nullptr;
    return column_softmax(rows / inner, n, inner, ctx);
  }
  return make_op(
      [=](const RunArgs& args) {
        for_rows(args.pool, rows, n, [&](int64_t r) {
          table->softmax_row(args.in(0) + r * n, args.out() + r * n, n, logarithm);
        });
      },
      0, 0b1);
}

Prepared norm(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || op.outputs.size() != 1 || op.input(0).rank() == 0) return nullptr;
  const auto& attrs = op.attrs<LayerNormAttrs>();
  const OperandInfo& x = op.input(0);
  const size_t axis = axis_of(attrs.axis, x.rank());
  const int64_t n = tail(x, axis);
  for (size_t i = 1; i < op.inputs.size(); ++i)
    if (op.has(i) && op.input(i).count() != n) return nullptr;
  const int64_t rows = x.count() / n;
  const bool centre = op.op.kind() == OpKind::LayerNorm;
  const bool scale = op.has(1);
  const bool bias = op.has(2);
  const float epsilon = attrs.epsilon;
  const kernels::KernelTable* table = &ctx.table;
  return make_op(
      [=](const RunArgs& args) {
        for_blocks(args.pool, rows, n, [&](int64_t first, int64_t count) {
          kernels::NormArgs a;
          a.x = args.in(0) + first * n;
          a.y = args.out() + first * n;
          a.n = n;
          a.rows = count;
          a.scale = scale ? args.in(1) : nullptr;
          a.bias = bias ? args.in(2) : nullptr;
          a.epsilon = epsilon;
          a.centre = centre;
          table->norm_rows(a);
        });
      },
      0, 0b1);
}

// Folded into one multiplication and addition per channel; what a pass could not merge into
// weights.
Prepared batch_norm(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<BatchNormAttrs>();
  if (!all_f32(op) || attrs.training || op.outputs.size() != 1 || op.input(0).rank() < 2)
    return nullptr;
  for (size_t i = 1; i < 5; ++i)
    if (!op.has(i) || op.input(i).constant == nullptr) return nullptr;
  const OperandInfo& x = op.input(0);
  const bool last = attrs.layout == Layout::ChannelsLast;
  const int64_t channels = last ? x.shape.back() : x.shape[1];
  auto scale = std::make_shared<std::vector<float>>();
  auto shift = std::make_shared<std::vector<float>>();
  for (int64_t c = 0; c < channels; ++c) {
    const double gain =
        static_cast<double>(op.input(1).f32()[c]) /
        std::sqrt(static_cast<double>(op.input(4).f32()[c]) + static_cast<double>(attrs.epsilon));
    scale->push_back(static_cast<float>(gain));
    shift->push_back(static_cast<float>(static_cast<double>(op.input(2).f32()[c]) -
                                        gain * static_cast<double>(op.input(3).f32()[c])));
  }
  std::vector<int64_t> parameter(x.rank(), 1);
  parameter[last ? x.rank() - 1 : 1] = channels;
  const kernels::BinaryPlan plan(x.shape, parameter);
  const kernels::KernelTable* table = &ctx.table;
  return make_op(
      [=](const RunArgs& args) {
        plan.run(*table, kernels::BinaryOp::Mul, args.in(0), scale->data(), args.out(), args.pool);
        plan.run(*table, kernels::BinaryOp::Add, args.out(), shift->data(), args.out(), args.pool);
      },
      0, 0b1);
}

Prepared reduce(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  if (!x.is_f32() || !op.output().is_f32() || op.outputs.size() != 1) return nullptr;
  std::vector<int64_t> axes;
  if (op.has(1)) {
    auto given = constant_ints(op, 1);
    if (!given) return nullptr;
    axes = std::move(*given);
  }
  if (axes.empty()) {
    if (op.attrs<ReduceAttrs>().noop_with_empty_axes) return nullptr;
    for (size_t d = 0; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  const auto split = split_axes(x, std::move(axes));
  if (!split) return nullptr;
  const Split3 s = *split;
  const bool is_max = op.op.kind() == OpKind::ReduceMax;
  const float scale =
      op.op.kind() == OpKind::ReduceMean ? 1.0F / static_cast<float>(s.middle) : 1.0F;
  const kernels::KernelTable* table = &ctx.table;
  if (s.inner == 1) {
    return make_op([=](const RunArgs& args) {
      for_rows(args.pool, s.outer, s.middle, [&](int64_t r) {
        const float* row = args.in(0) + r * s.middle;
        args.out()[r] = is_max ? table->max(row, s.middle) : table->sum(row, s.middle) * scale;
      });
    });
  }
  const size_t pointers = static_cast<size_t>(s.middle) * sizeof(const float*);
  return make_op(
      [=](const RunArgs& args) {
        args.pool.parallel_for(s.outer, [&](int64_t o, int thread) {
          auto** rows = reinterpret_cast<const float**>(args.scratch +
                                                        static_cast<size_t>(thread) * pointers);
          for (int64_t i = 0; i < s.middle; ++i)
            rows[i] = args.in(0) + (o * s.middle + i) * s.inner;
          float* y = args.out() + o * s.inner;
          if (is_max) {
            table->gather_max(rows, s.middle, y, s.inner);
          } else {
            table->gather_sum(rows, s.middle, y, s.inner, scale);
          }
        });
      },
      pointers * static_cast<size_t>(ctx.threads));
}

}  // namespace ec::prepare
