// Ops that copy a tensor with some of its elements replaced or combined with updates.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/indexing.h"
#include "support/rounding.h"

namespace ec::ops {
namespace {

template <class C>
C reduce(Reduction reduction, C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (reduction == Reduction::Add) return a + b;
    if (reduction == Reduction::Mul) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  } else {
    if (reduction == Reduction::Add) return wrapping_add(a, b);
    if (reduction == Reduction::Mul) return wrapping_mul(a, b);
  }
  return reduction == Reduction::Max ? std::max(a, b) : std::min(a, b);
}

// result = data, then every block at offsets[i] combined with update block i, in order.
void scatter_into(KernelContext& ctx, std::span<const int64_t> offsets, int64_t run,
                  Reduction reduction) {
  const ConstView& data = ctx.input(0);
  const ConstView& updates = ctx.input(2);
  const MutableView& y = ctx.output(0);
  if (reduction == Reduction::None) {
    if (y.data != data.data && data.bytes() > 0) std::memcpy(y.data, data.data, data.bytes());
    scatter_blocks(y.data, updates.data, offsets, run, element_size(data.dtype));
    return;
  }
  with_compute_type(data.dtype, [&](auto compute) {
    using C = decltype(compute);
    Writer<C> out(y);
    load<C>(data, out.values());
    const Reader<C> values(updates);
    size_t next = 0;
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < run; ++i) {
        C& element = out[static_cast<size_t>(offset + i)];
        element = reduce(reduction, element, values[next++]);
      }
    out.commit();
  });
}

// --- scatter_elements
// -----------------------------------------------------------------------------

Status infer_scatter_elements(InferContext& ctx) {
  EC_CHECK_OK(require_same_type(ctx, 0, 2));
  const auto &x = ctx.shape(0), &indices = ctx.shape(1), &updates = ctx.shape(2);
  if (x) {
    const int64_t axis = ctx.attrs<ScatterElementsAttrs>().axis;
    if (indices) EC_CHECK_OK(require_within(ctx, *indices, *x, axis, "indices"));
  }
  if (indices && updates) {
    for (size_t d = 0; d < indices->rank(); ++d)
      EC_CHECK_OK(merge_dims(ctx, (*indices)[d], (*updates)[d], "indices and updates"));
  }
  ctx.set(0, ctx.dtype(0), x);
  return {};
}

Status scatter_elements(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<ScatterElementsAttrs>();
  const ConstView& x = ctx.input(0);
  EC_TRY(const std::vector<int64_t> offsets,
         element_offsets(ctx, x.shape, static_cast<size_t>(attrs.axis), ctx.input(1)));
  scatter_into(ctx, offsets, 1, attrs.reduction);
  return {};
}

// --- scatter_nd
// -----------------------------------------------------------------------------------

Status check_scatter_nd(InferContext& ctx) {
  const auto &x = ctx.shape(0), &indices = ctx.shape(1), &updates = ctx.shape(2);
  if (!x || !indices) return {};
  if (indices->rank() == 0)
    return ctx.bad_shape("indices must have a dimension for the index tuples");
  const Dim& width = (*indices)[indices->rank() - 1];
  if (!width.is_static()) return {};
  if (width.size() < 1 || width.size() > static_cast<int64_t>(x->rank()))
    return ctx.bad_shape("tuples of " + width.text() + " indices do not fit " +
                         operand_text(ctx, 0));
  if (!updates) return {};
  Shape expected(std::vector<Dim>(indices->begin(), indices->end() - 1));
  for (auto d = static_cast<size_t>(width.size()); d < x->rank(); ++d) expected.push_back((*x)[d]);
  if (updates->rank() != expected.rank())
    return ctx.bad_shape("updates must be " + expected.text() + ", got " + operand_text(ctx, 2));
  for (size_t d = 0; d < expected.rank(); ++d)
    EC_CHECK_OK(merge_dims(ctx, expected[d], (*updates)[d], "updates"));
  return {};
}

Status infer_scatter_nd(InferContext& ctx) {
  EC_CHECK_OK(require_same_type(ctx, 0, 2));
  EC_CHECK_OK(check_scatter_nd(ctx));
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

Status scatter_nd(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const ConstView& indices = ctx.input(1);
  EC_TRY(const std::vector<int64_t> offsets, tuple_offsets(ctx, x.shape, 0, indices));
  const int64_t run = count_elements(x.shape.subspan(static_cast<size_t>(indices.shape.back())));
  scatter_into(ctx, offsets, run, ctx.attrs<ScatterNdAttrs>().reduction);
  return {};
}

// --- tensor_scatter
// -------------------------------------------------------------------------------

Status infer_tensor_scatter(InferContext& ctx) {
  EC_CHECK_OK(require_same_type(ctx, 0, 1));
  const auto &cache = ctx.shape(0), &update = ctx.shape(1);
  if (cache) {
    const int64_t axis = ctx.attrs<TensorScatterAttrs>().axis;
    if (axis == 0) return ctx.bad_value("axis cannot be the batch dimension");
    for (size_t d = 0; update && d < cache->rank(); ++d)
      if (static_cast<int64_t>(d) != axis)
        EC_CHECK_OK(merge_dims(ctx, (*cache)[d], (*update)[d], "cache and update"));
    if (update) {
      const auto a = static_cast<size_t>(axis);
      if ((*cache)[a].is_static() && (*update)[a].is_static() &&
          (*update)[a].size() > (*cache)[a].size())
        return ctx.bad_shape("update " + operand_text(ctx, 1) + " is longer than the cache " +
                             operand_text(ctx, 0));
    }
    if (ctx.has(2) && ctx.shape(2))
      EC_CHECK_OK(merge_dims(ctx, (*cache)[0], (*ctx.shape(2))[0], "batch and write indices"));
  }
  ctx.set(0, ctx.dtype(0), cache);
  return {};
}

Status tensor_scatter(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<TensorScatterAttrs>();
  const ConstView& cache = ctx.input(0);
  const ConstView& update = ctx.input(1);
  const MutableView& y = ctx.output(0);
  if (y.data != cache.data && cache.bytes() > 0) std::memcpy(y.data, cache.data, cache.bytes());
  if (update.count() == 0) return {};
  const auto axis = static_cast<size_t>(attrs.axis);
  const AxisSplit to = split_at(cache.shape, axis), from = split_at(update.shape, axis);
  std::vector<int64_t> starts(static_cast<size_t>(cache.shape[0]), 0);
  if (ctx.has(2)) starts = read_ints(ctx, 2);
  const int64_t prefixes_per_batch = to.outer / cache.shape[0];
  const size_t block = static_cast<size_t>(to.inner) * element_size(cache.dtype);
  for (int64_t prefix = 0; prefix < to.outer; ++prefix) {
    const int64_t start = starts[static_cast<size_t>(prefix / prefixes_per_batch)];
    const bool fits = attrs.circular || start <= to.size - from.size;
    if (start < 0 || !fits)
      return ctx.fail("write index " + std::to_string(start) + " with " +
                      std::to_string(from.size) + " steps is outside a cache of " +
                      std::to_string(to.size));
    for (int64_t step = 0; step < from.size; ++step) {
      const int64_t row = (start % to.size + step) % to.size;
      std::memcpy(y.data + static_cast<size_t>(prefix * to.size + row) * block,
                  update.data + static_cast<size_t>(prefix * from.size + step) * block, block);
    }
  }
  return {};
}

}  // namespace

constexpr Rule kScatterElementsRules[] = {
    rule::integers("indices"), rule::same_rank("indices", "x"),
    rule::same_rank("updates", "indices"), rule::axis("axis", "x")};
EC_OP_DEF(ScatterElements, .signature = "(x, indices, updates) -> y",
          .summary =
              "x with one element per index replaced by, or combined with, its update: the "
              "index replaces the update's position along axis.",
          .rules = kScatterElementsRules, .infer = infer_scatter_elements,
          .reference = scatter_elements);
constexpr Rule kScatterNdRules[] = {rule::integers("indices"), rule::min_rank("indices", 1)};
EC_OP_DEF(
    ScatterNd, .signature = "(x, indices, updates) -> y",
    .summary = "x with the blocks at the index tuples replaced by, or combined with, updates.",
    .rules = kScatterNdRules, .infer = infer_scatter_nd, .reference = scatter_nd);
constexpr Rule kTensorScatterRules[] = {
    rule::same_rank("update", "cache"), rule::rank("write_indices", 1),
    rule::integers("write_indices"), rule::axis("axis", "cache")};
EC_OP_DEF(TensorScatter, .signature = "(cache, update, write_indices?) -> y",
          .summary =
              "The cache with the update written along axis, from write_indices[b] on in "
              "each batch entry b.",
          .rules = kTensorScatterRules, .infer = infer_tensor_scatter, .reference = tensor_scatter,
          .quant = QuantRule::SameAsInput);

}  // namespace ec::ops
