// Ops that read elements at indices given as data.
#include <algorithm>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/indexing.h"

namespace ec::ops {
namespace {

// --- gather
// ---------------------------------------------------------------------------------------

// Entries of a list whose elements are tracked.
Status track_gather(InferContext& ctx) {
  const auto tracked = tracked_elements(ctx, 0);
  const auto count = ctx.type(1).num_elements();
  if (!tracked || !count || *count > static_cast<int64_t>(kMaxRank)) return {};
  const auto indices = ctx.int_values(1);
  if (!indices) return {};
  const auto size = static_cast<int64_t>(tracked->size());
  Elements taken;
  for (const int64_t index : *indices) {
    if (index < -size || index >= size)
      return ctx.bad_value("index " + std::to_string(index) + " is outside a dimension of size " +
                           std::to_string(size));
    taken.push_back((*tracked)[static_cast<size_t>(index < 0 ? index + size : index)]);
  }
  track_result(ctx, 0, taken);
  return {};
}

Status infer_gather(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  const auto& indices = ctx.shape(1);
  if (!x || !indices) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  const int64_t axis = ctx.attrs<GatherAttrs>().axis;
  EC_CHECK_OK(require_rank_limit(ctx, x->rank() + indices->rank() - 1));
  const auto at_axis = x->begin() + axis;
  std::vector<Dim> out(x->begin(), at_axis);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), at_axis + 1, x->end());
  ctx.set(0, ctx.dtype(0), Shape(std::move(out)));
  return x->rank() == 1 ? track_gather(ctx) : Status();
}

Status gather(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const size_t axis = static_cast<size_t>(ctx.attrs<GatherAttrs>().axis);
  std::vector<int64_t> indices = read_ints(ctx, 1);
  for (int64_t& index : indices) {
    EC_TRY(index, checked_index(ctx, index, x.shape[axis]));
  }
  take_along(ctx.output(0), x, axis, indices);
  return {};
}

// --- gather_elements
// ------------------------------------------------------------------------------

// A few indices that are known: longer lists are left to the run.
Status check_known_indices(InferContext& ctx, const Dim& size) {
  const auto count = ctx.type(1).num_elements();
  if (!size.is_static() || !count || *count > static_cast<int64_t>(kMaxRank)) return {};
  const auto indices = ctx.int_values(1);
  if (!indices) return {};
  for (const int64_t index : *indices)
    if (index < -size.size() || index >= size.size())
      return ctx.bad_value("index " + std::to_string(index) + " is outside a dimension of size " +
                           std::to_string(size.size()));
  return {};
}

Status infer_gather_elements(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  const auto& indices = ctx.shape(1);
  if (x && indices) {
    const int64_t axis = ctx.attrs<GatherAttrs>().axis;
    EC_CHECK_OK(require_within(ctx, *indices, *x, axis, "indices"));
    EC_CHECK_OK(check_known_indices(ctx, (*x)[plain_axis(axis, x->rank())]));
  }
  ctx.set(0, ctx.dtype(0), indices);
  return {};
}

Status gather_elements(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const size_t axis = static_cast<size_t>(ctx.attrs<GatherAttrs>().axis);
  EC_TRY(const std::vector<int64_t> offsets, element_offsets(ctx, x.shape, axis, ctx.input(1)));
  gather_blocks(ctx.output(0).data, x.data, offsets, 1, element_size(x.dtype));
  return {};
}

// --- gather_nd
// ------------------------------------------------------------------------------------

Result<std::optional<Shape>> gather_nd_shape(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  const auto& indices = ctx.shape(1);
  const int64_t batch_dims = ctx.attrs<GatherNdAttrs>().batch_dims;
  if (!x || !indices) return std::optional<Shape>{};
  if (indices->rank() == 0 || batch_dims >= static_cast<int64_t>(indices->rank()) ||
      batch_dims >= static_cast<int64_t>(x->rank()))
    return ctx.bad_shape("batch_dims " + std::to_string(batch_dims) +
                         " must be below the ranks of " + operand_text(ctx, 0) + " and " +
                         operand_text(ctx, 1));
  const auto batch = static_cast<size_t>(batch_dims);
  const Dim& width = (*indices)[indices->rank() - 1];
  if (width.is_static() &&
      (width.size() < 1 || width.size() > static_cast<int64_t>(x->rank()) - batch_dims))
    return ctx.bad_shape("tuples of " + width.text() + " indices do not fit " +
                         operand_text(ctx, 0) + " with batch_dims " + std::to_string(batch_dims));
  Shape out;
  for (size_t d = 0; d < batch; ++d) {
    EC_TRY(const Dim dim, merge_dims(ctx, (*x)[d], (*indices)[d], "batch dimension"));
    out.push_back(dim);
  }
  if (!width.is_static()) return std::optional<Shape>{};
  for (size_t d = batch; d + 1 < indices->rank(); ++d) out.push_back((*indices)[d]);
  for (size_t d = batch + static_cast<size_t>(width.size()); d < x->rank(); ++d)
    out.push_back((*x)[d]);
  EC_CHECK_OK(require_rank_limit(ctx, out.rank()));
  return std::optional<Shape>(std::move(out));
}

Status infer_gather_nd(InferContext& ctx) {
  EC_TRY(std::optional<Shape> shape, gather_nd_shape(ctx));
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

Status gather_nd(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const ConstView& indices = ctx.input(1);
  const auto batch_dims = static_cast<size_t>(ctx.attrs<GatherNdAttrs>().batch_dims);
  EC_TRY(const std::vector<int64_t> offsets, tuple_offsets(ctx, x.shape, batch_dims, indices));
  const int64_t run =
      count_elements(x.shape.subspan(batch_dims + static_cast<size_t>(indices.shape.back())));
  gather_blocks(ctx.output(0).data, x.data, offsets, run, element_size(x.dtype));
  return {};
}

}  // namespace

constexpr Rule kGatherRules[] = {rule::integers("indices"), rule::axis("axis", "x")};
EC_OP_DEF(Gather, .signature = "(x, indices) -> y",
          .summary =
              "The entries of x along axis at the given indices; the shape of the indices "
              "takes the place of the axis.",
          .rules = kGatherRules, .infer = infer_gather, .reference = gather,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::AxisAttr);
constexpr Rule kGatherElementsRules[] = {rule::integers("indices"), rule::same_rank("indices", "x"),
                                         rule::axis("axis", "x")};
EC_OP_DEF(GatherElements, .signature = "(x, indices) -> y",
          .summary = "One element of x per index: the index replaces its position along axis.",
          .rules = kGatherElementsRules, .infer = infer_gather_elements,
          .reference = gather_elements, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Fixed);
constexpr Rule kGatherNdRules[] = {rule::integers("indices"), rule::min_rank("indices", 1),
                                   rule::between("batch_dims", 0, rule::kAnyRank)};
EC_OP_DEF(GatherNd, .signature = "(x, indices) -> y",
          .summary = "The blocks of x at the index tuples in the last dimension of indices.",
          .rules = kGatherNdRules, .infer = infer_gather_nd, .reference = gather_nd,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
