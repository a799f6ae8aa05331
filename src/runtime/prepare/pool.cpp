// Pooling over one and two spatial dimensions, channels last.
#include "runtime/kernels/pool.h"

#include "ops/window.h"
#include "runtime/kernels/transpose.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

using kernels::Pool2dShape;
using kernels::PoolKind;

Pool2dShape pool_shape(const OpInstance& op) {
  const auto& attrs = op.attrs<PoolAttrs>();
  const OperandInfo& x = op.input(0);
  const std::vector<int64_t> in = channels_first_shape(attrs.layout, x.shape);
  const std::vector<int64_t> out = channels_first_shape(attrs.layout, op.output().shape);
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  const std::vector<WindowDim> dims = resolve_windows(spec, spatial_sizes(attrs.layout, x.shape));
  Pool2dShape s;
  s.batch = in[0];
  s.channels = in[1];
  s.in_h = in.size() == 4 ? in[2] : 1;
  s.in_w = in.back();
  s.out_h = out.size() == 4 ? out[2] : 1;
  s.out_w = out.back();
  const WindowDim& wx = dims.back();
  s.kernel_w = wx.kernel;
  s.stride_w = wx.stride;
  s.dilation_w = wx.dilation;
  s.pad_left = wx.pad_begin;
  s.pad_right = wx.pad_end;
  if (dims.size() == 2) {
    const WindowDim& wy = dims.front();
    s.kernel_h = wy.kernel;
    s.stride_h = wy.stride;
    s.dilation_h = wy.dilation;
    s.pad_top = wy.pad_begin;
    s.pad_bottom = wy.pad_end;
  }
  s.count_include_pad = attrs.count_include_pad;
  return s;
}

// Max pools of bytes, channels last; where quantised, operand and result have the same parameters.
template <class T>
Prepared max_pool_of_bytes(const Pool2dShape& s, const PrepareContext& ctx) {
  return make_op(
      [s, table = &ctx.table](const RunArgs& args) {
        kernels::run_max_pool(*table, s, reinterpret_cast<const T*>(args.inputs[0]),
                              reinterpret_cast<T*>(args.outputs[0]), args.pool, args.scratch);
      },
      align_up(kernels::pool_scratch_bytes(s, ctx.threads)));
}

}  // namespace

Prepared pool(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  if (op.outputs.size() != 1 || (x.rank() != 3 && x.rank() != 4)) return nullptr;
  const bool first = op.attrs<PoolAttrs>().layout == Layout::ChannelsFirst;
  const Pool2dShape s = pool_shape(op);
  if (op.op.kind() == OpKind::MaxPool && !first && x.dtype == DType::I8)
    return max_pool_of_bytes<int8_t>(s, ctx);
  if (op.op.kind() == OpKind::MaxPool && !first && x.dtype == DType::U8)
    return max_pool_of_bytes<uint8_t>(s, ctx);
  if (!x.is_f32()) return nullptr;
  const PoolKind kind = op.op.kind() == OpKind::MaxPool ? PoolKind::Max : PoolKind::Average;
  const size_t work = align_up(kernels::pool_scratch_bytes(s, ctx.threads));
  const kernels::KernelTable* table = &ctx.table;
  if (!first) {
    return make_op(
        [s, kind, table](const RunArgs& args) {
          kernels::run_pool(*table, s, kind, args.in(0), args.out(), args.pool, args.scratch);
        },
        work);
  }
  const int64_t in_pixels = s.in_h * s.in_w;
  const int64_t out_pixels = s.out_h * s.out_w;
  const std::vector<int64_t> perm = {0, 2, 1};
  const kernels::TransposePlan to_last(std::vector<int64_t>{s.batch, s.channels, in_pixels}, perm,
                                       4);
  const kernels::TransposePlan to_first(std::vector<int64_t>{s.batch, out_pixels, s.channels}, perm,
                                        4);
  const size_t in_bytes = align_up(static_cast<size_t>(x.count()) * 4);
  const size_t out_bytes = align_up(static_cast<size_t>(op.output().count()) * 4);
  return make_op(
      [=](const RunArgs& args) {
        std::byte* last = args.scratch + work;
        std::byte* result = last + in_bytes;
        to_last.run(*table, args.inputs[0], last, args.pool);
        kernels::run_pool(*table, s, kind, reinterpret_cast<const float*>(last),
                          reinterpret_cast<float*>(result), args.pool, args.scratch);
        to_first.run(*table, result, args.outputs[0], args.pool);
      },
      work + in_bytes + out_bytes);
}

Prepared global_pool(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  if (!x.is_f32() || x.rank() < 3) return nullptr;
  const bool first = op.attrs<GlobalPoolAttrs>().layout == Layout::ChannelsFirst;
  const bool average = op.op.kind() == OpKind::GlobalAvgPool;
  const int64_t batch = x.shape.front();
  const int64_t channels = first ? x.shape[1] : x.shape.back();
  const int64_t pixels = x.count() / (batch * channels);
  const kernels::KernelTable* table = &ctx.table;
  if (first) {
    return make_op([=](const RunArgs& args) {
      args.pool.parallel_for(batch * channels, [&](int64_t i, int) {
        const float* row = args.in(0) + i * pixels;
        args.out()[i] = average ? table->sum(row, pixels) / static_cast<float>(pixels)
                                : table->max(row, pixels);
      });
    });
  }
  const PoolKind kind = average ? PoolKind::Average : PoolKind::Max;
  return make_op(
      [=](const RunArgs& args) {
        kernels::run_global_pool(*table, batch, pixels, channels, kind, args.in(0), args.out(),
                                 args.pool, args.scratch);
      },
      kernels::global_pool_scratch_bytes(pixels, ctx.threads));
}

}  // namespace ec::prepare
