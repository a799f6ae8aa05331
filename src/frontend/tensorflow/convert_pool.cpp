// Pools over the spatial dimensions.
#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/window.h"

namespace ec::tf {
namespace {

template <OpKind kKind, size_t kSpatial>
Status pool(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != kSpatial + 2)
    return ctx.fail(Code::ShapeMismatch,
                    "the input has to have " + std::to_string(kSpatial + 2) + " dimensions");
  PoolAttrs attrs;
  EC_TRY(attrs.layout, layout_of(ctx, kSpatial));
  EC_TRY(attrs.kernel, spatial_ints(ctx, "ksize", attrs.layout, kSpatial));
  EC_TRY(attrs.strides, spatial_ints(ctx, "strides", attrs.layout, kSpatial));
  attrs.dilations.assign(kSpatial, 1);
  const std::vector<int64_t> kernel = attrs.kernel;
  EC_CHECK_OK(set_padding(ctx, ctx.in(0), kernel, attrs));
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"MaxPool", k1, pool<OpKind::MaxPool, 2>},
    {"AvgPool", k1, pool<OpKind::AvgPool, 2>},
    {"MaxPool3D", k1, pool<OpKind::MaxPool, 3>},
    {"AvgPool3D", k1, pool<OpKind::AvgPool, 3>},
};

}  // namespace

const std::span<const OpRow> kPoolRows = kRows;

}  // namespace ec::tf
