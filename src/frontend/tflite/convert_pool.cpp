// Pools over the two spatial dimensions.
#include <algorithm>

#include "frontend/tflite/table.h"
#include "frontend/tflite/window.h"

namespace ec::tflite {
namespace {

Result<PoolAttrs> pool_attrs(OpContext& ctx) {
  const auto& options = ctx.options<Pool2DOptions>();
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4) return ctx.fail(Code::ShapeMismatch, "the input has to have 4 dimensions");
  EC_CHECK_OK(check_window(ctx, {options.stride_h(), options.stride_w(), options.filter_height(),
                                 options.filter_width()}));
  PoolAttrs attrs;
  attrs.kernel = {options.filter_height(), options.filter_width()};
  attrs.strides = {options.stride_h(), options.stride_w()};
  attrs.dilations = {1, 1};
  attrs.layout = Layout::ChannelsLast;
  set_padding(ctx.in(0), options.padding(), std::vector<int64_t>(attrs.kernel), attrs);
  return attrs;
}

template <OpKind kKind>
Status pool(OpContext& ctx) {
  EC_TRY(const PoolAttrs attrs, pool_attrs(ctx));
  return ctx.finish_activated(kKind, {ctx.in(0)}, attrs,
                              ctx.options<Pool2DOptions>().fused_activation_function());
}

// The root of the mean of squares.
Status l2_pool(OpContext& ctx) {
  EC_TRY(const PoolAttrs attrs, pool_attrs(ctx));
  EC_TRY(ec::Tensor * squares, ctx.add(OpKind::Mul, {ctx.in(0), ctx.in(0)}));
  EC_TRY(ec::Tensor * mean, ctx.add(OpKind::AvgPool, {squares}, attrs));
  return ctx.finish_activated(OpKind::Sqrt, {mean}, {},
                              ctx.options<Pool2DOptions>().fused_activation_function());
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {BuiltinOperator::AVERAGE_POOL_2D, k1, k1, pool<OpKind::AvgPool>},
    {BuiltinOperator::MAX_POOL_2D, k1, k1, pool<OpKind::MaxPool>},
    {BuiltinOperator::L2_POOL_2D, k1, k1, l2_pool},
};

}  // namespace

const std::span<const OpRow> kPoolRows = kRows;

}  // namespace ec::tflite
