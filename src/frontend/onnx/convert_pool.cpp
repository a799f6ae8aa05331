// Pooling.
#include <numeric>

#include "frontend/onnx/table.h"
#include "frontend/onnx/window.h"

namespace ec::onnx {
namespace {

PoolAttrs pool_attrs(NodeContext& ctx) {
  PoolAttrs attrs;
  read_window(ctx, attrs);
  attrs.kernel = ctx.attr_ints("kernel_shape");
  attrs.ceil_mode = ctx.attr_bool("ceil_mode", false);
  return attrs;
}

Status need_kernel(NodeContext& ctx) {
  if (ctx.has_attr("kernel_shape")) return {};
  return ctx.fail(Code::BadAttribute, "attribute 'kernel_shape' is missing");
}

Status max_pool(NodeContext& ctx) {
  EC_CHECK_OK(need_kernel(ctx));
  PoolAttrs attrs = pool_attrs(ctx);
  attrs.column_major_indices = ctx.attr_bool("storage_order", false);
  return ctx.finish(OpKind::MaxPool, {ctx.in(0)}, attrs);
}

Status average_pool(NodeContext& ctx) {
  EC_CHECK_OK(need_kernel(ctx));
  PoolAttrs attrs = pool_attrs(ctx);
  attrs.count_include_pad = ctx.attr_bool("count_include_pad", false);
  return ctx.finish(OpKind::AvgPool, {ctx.in(0)}, attrs);
}

// The order of the norm was a float in the first version.
int64_t norm_order(NodeContext& ctx) {
  return ctx.version() < 2 ? static_cast<int64_t>(ctx.attr_float("p", 2.0f)) : ctx.attr_int("p", 2);
}

Status lp_pool(NodeContext& ctx) {
  EC_CHECK_OK(need_kernel(ctx));
  LpPoolAttrs attrs;
  read_window(ctx, attrs);
  attrs.kernel = ctx.attr_ints("kernel_shape");
  attrs.ceil_mode = ctx.attr_bool("ceil_mode", false);
  attrs.p = norm_order(ctx);
  return ctx.finish(OpKind::LpPool, {ctx.in(0)}, attrs);
}

// (sum |x|^p)^(1/p) over all spatial dimensions.
Status global_lp_pool(NodeContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank < 3) return ctx.fail(Code::ShapeMismatch, "the input has no spatial dimensions");
  std::vector<int64_t> axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const int64_t p = norm_order(ctx);
  if (p < 1) return ctx.fail(Code::BadAttribute, "attribute 'p' has to be 1 or more");
  const ReduceAttrs attrs;
  if (p == 1) return ctx.finish(OpKind::ReduceL1, {ctx.in(0), ctx.ints(axes)}, attrs);
  if (p == 2) return ctx.finish(OpKind::ReduceL2, {ctx.in(0), ctx.ints(axes)}, attrs);
  const DType dtype = ctx.dtype();
  EC_TRY(ec::Tensor * x, ctx.add(OpKind::Abs, {ctx.in(0)}));
  EC_TRY(x, ctx.add(OpKind::Pow, {x, ctx.scalar(dtype, static_cast<double>(p))}));
  EC_TRY(x, ctx.add(OpKind::ReduceSum, {x, ctx.ints(axes)}, attrs));
  return ctx.finish(OpKind::Pow, {x, ctx.scalar(dtype, 1.0 / static_cast<double>(p))});
}

template <OpKind kKind>
Status global_pool(NodeContext& ctx) {
  return ctx.finish(kKind, {ctx.in(0)}, GlobalPoolAttrs{});
}

Status max_unpool(NodeContext& ctx) {
  EC_CHECK_OK(need_kernel(ctx));
  MaxUnpoolAttrs attrs;
  attrs.kernel = ctx.attr_ints("kernel_shape");
  attrs.strides = ctx.attr_ints("strides");
  attrs.pads = ctx.attr_ints("pads");
  return ctx.finish(OpKind::MaxUnpool, ctx.tensors(), attrs);
}

Status max_roi_pool(NodeContext& ctx) {
  MaxRoiPoolAttrs attrs;
  attrs.pooled = ctx.attr_ints("pooled_shape");
  if (!ctx.has_attr("pooled_shape"))
    return ctx.fail(Code::BadAttribute, "attribute 'pooled_shape' is missing");
  attrs.spatial_scale = ctx.attr_float("spatial_scale", 1.0f);
  return ctx.finish(OpKind::MaxRoiPool, ctx.tensors(), attrs);
}

Status roi_align(NodeContext& ctx) {
  constexpr std::string_view kModes[] = {"avg", "max"};
  constexpr std::string_view kCoordinates[] = {"half_pixel", "output_half_pixel"};
  RoiAlignAttrs attrs;
  attrs.output_height = ctx.attr_int("output_height", 1);
  attrs.output_width = ctx.attr_int("output_width", 1);
  attrs.sampling_ratio = ctx.attr_int("sampling_ratio", 0);
  attrs.spatial_scale = ctx.attr_float("spatial_scale", 1.0f);
  attrs.max_mode = ctx.attr_choice("mode", kModes, 0) == 1;
  // Version 10 had no such attribute and did not shift by half a pixel.
  attrs.half_pixel = ctx.version() >= 16 &&
                     ctx.attr_choice("coordinate_transformation_mode", kCoordinates, 0) == 0;
  return ctx.finish(OpKind::RoiAlign, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"MaxPool", 1, 7, k1, k1, max_pool},
    {"MaxPool", 8, kLatest, k1, {1, 2}, max_pool},
    {"AveragePool", 1, kLatest, k1, k1, average_pool},
    {"LpPool", 1, kLatest, k1, k1, lp_pool},
    {"GlobalAveragePool", 1, kLatest, k1, k1, global_pool<OpKind::GlobalAvgPool>},
    {"GlobalMaxPool", 1, kLatest, k1, k1, global_pool<OpKind::GlobalMaxPool>},
    {"GlobalLpPool", 1, kLatest, k1, k1, global_lp_pool},
    {"MaxUnpool", 9, kLatest, {2, 3}, k1, max_unpool},
    {"MaxRoiPool", 1, kLatest, {2, 2}, k1, max_roi_pool},
    {"RoiAlign", 10, kLatest, {3, 3}, k1, roi_align},
};

}  // namespace

const std::span<const OpRow> kPoolRows = kRows;

}  // namespace ec::onnx
