// Ops that change or read shapes. Reshape and its relatives keep the elements in order; shape and
// size start the arithmetic on dimensions that inference tracks.
#include <algorithm>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"

namespace ec::ops {
namespace {

// --- reshape
// --------------------------------------------------------------------------------------

// The target dimensions of a reshape, with at most one left open for what remains.
struct ReshapeTarget {
  std::vector<Dim> dims;
  std::vector<bool> copied;    // from the input's dimension at the same index
  std::optional<size_t> rest;  // the one to solve for
  bool has_several_open = false;
};

Result<ReshapeTarget> reshape_target(const InferContext& ctx, const Elements& elements) {
  const bool allow_zero = ctx.attrs<ReshapeAttrs>().allow_zero;
  const auto& x = ctx.shape(0);
  ReshapeTarget target;
  bool has_minus_one = false, has_zero = false;
  for (size_t i = 0; i < elements.size(); ++i) {
    const ShapeElement& element = elements[i];
    Dim dim = element.dim();
    bool copied = false;
    if (element.is(-1)) {
      if (has_minus_one) return ctx.bad_value("shape has more than one -1");
      has_minus_one = true;
    } else if (element.constant() && *element.constant() < -1) {
      return ctx.bad_value("shape has the negative size " + std::to_string(*element.constant()));
    } else if (element.is(0) && !allow_zero) {
      if (x && i >= x->rank())
        return ctx.bad_value("shape copies dimension " + std::to_string(i) + " of an input with " +
                             std::to_string(x->rank()));
      copied = x.has_value();
      dim = x ? (*x)[i] : Dim::unknown();
    } else if (element.is(0)) {
      has_zero = true;
    }
    if (dim.is_unknown() && !copied) {
      target.has_several_open = target.has_several_open || target.rest.has_value();
      target.rest = i;
    }
    target.dims.push_back(dim);
    target.copied.push_back(copied);
  }
  if (has_minus_one && has_zero)
    return ctx.bad_value("shape has both -1 and 0 while zeros stand for empty dimensions");
  return target;
}

// Solves for the open dimension: all elements of the input over what the target already has.
Status solve_reshape(const InferContext& ctx, ReshapeTarget& target) {
  DimProduct total, taken;
  const Shape& x = *ctx.shape(0);
  for (size_t i = 0; i < x.rank(); ++i)
    if (i >= target.copied.size() || !target.copied[i] || x[i] == Dim(0)) total.multiply(x[i]);
  for (size_t i = 0; i < target.dims.size(); ++i) {
    // A copied dimension cancels against its origin, even when nobody knows it.
    const bool cancelled = target.copied[i] && !(target.dims[i] == Dim(0));
    if (i != target.rest && !cancelled) taken.multiply(target.dims[i]);
  }
  const auto misfit = [&] {
    return ctx.bad_shape("shape " + Shape(target.dims).text() + " does not fit the elements of " +
                         operand_text(ctx, 0));
  };
  if (!target.rest) return total.contradicts(taken) ? Status(misfit()) : Status();
  Dim solved = Dim::unknown();
  if (total.divide(taken, solved) == DimProduct::Quotient::Impossible) return misfit();
  target.dims[*target.rest] = solved;
  return {};
}

Status infer_reshape(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> elements, list_operand(ctx, 1, "shape"));
  if (!elements) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  EC_CHECK_OK(require_rank_limit(ctx, elements->size()));
  EC_TRY(ReshapeTarget target, reshape_target(ctx, *elements));
  if (ctx.shape(0) && !target.has_several_open) EC_CHECK_OK(solve_reshape(ctx, target));
  ctx.set(0, ctx.dtype(0), Shape(std::move(target.dims)));
  if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  return {};
}

Status infer_flatten(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  if (!x) {
    ctx.set(0, ctx.dtype(0), Shape{Dim::unknown(), Dim::unknown()});
    return {};
  }
  // The axis may also be the rank itself: everything in the first dimension.
  const int64_t axis = ctx.attrs<FlattenAttrs>().axis;
  DimProduct before, after;
  for (size_t d = 0; d < x->rank(); ++d)
    (static_cast<int64_t>(d) < axis ? before : after).multiply((*x)[d]);
  if (before.overflows() || after.overflows())
    return ctx.bad_shape("a dimension of the result is too large");
  ctx.set(0, ctx.dtype(0), Shape{before.as_dim(), after.as_dim()});
  if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  return {};
}

// --- squeeze and unsqueeze
// ------------------------------------------------------------------------

Result<std::optional<Shape>> squeezed_shape(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  if (!x) return std::optional<Shape>{};
  Shape out;
  if (!ctx.has(1)) {
    for (const Dim& dim : *x) {
      // Whether an open dimension is one decides about the rank.
      if (!dim.is_static()) return std::optional<Shape>{};
      if (dim.size() != 1) out.push_back(dim);
    }
    return std::optional<Shape>(out);
  }
  EC_TRY(const auto list, known_list(ctx, 1, "axes"));
  if (!list) {
    // Several may name one axis: the rank is known for one entry alone.
    if (ctx.type(1).num_elements() != 1 || x->rank() == 0) return std::optional<Shape>{};
    if (std::ranges::none_of(*x,
                             [](const Dim& dim) { return !dim.is_static() || dim.size() == 1; }))
      return ctx.bad_shape("no dimension of " + operand_text(ctx, 0) +
                           " can be squeezed: none has the size 1");
    return std::optional<Shape>(Shape(std::vector<Dim>(x->rank() - 1, Dim::unknown())));
  }
  std::vector<bool> removed(x->rank(), false);
  for (const int64_t entry : *list) {
    // Naming an axis twice removes it once.
    EC_TRY(const int64_t axis, normalize_axis(ctx, entry, x->rank()));
    removed[static_cast<size_t>(axis)] = true;
  }
  for (size_t d = 0; d < x->rank(); ++d) {
    const Dim& dim = (*x)[d];
    if (!removed[d]) {
      out.push_back(dim);
    } else if (dim.is_static() && dim.size() != 1) {
      return ctx.bad_shape("dimension " + std::to_string(d) + " of " + operand_text(ctx, 0) +
                           " cannot be squeezed: its size is not 1");
    }
  }
  return std::optional<Shape>(out);
}

Status infer_squeeze(InferContext& ctx) {
  EC_TRY(std::optional<Shape> shape, squeezed_shape(ctx));
  ctx.set(0, ctx.dtype(0), std::move(shape));
  if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  return {};
}

Status infer_unsqueeze(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> elements, list_operand(ctx, 1, "axes"));
  EC_TRY(const auto list, known_list(ctx, 1, "axes"));
  const auto& x = ctx.shape(0);
  if (!x || !elements) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  const size_t rank = x->rank() + elements->size();
  EC_CHECK_OK(require_rank_limit(ctx, rank));
  if (!list) {
    ctx.set(0, ctx.dtype(0), Shape(std::vector<Dim>(rank, Dim::unknown())));
    return {};
  }
  EC_TRY(const std::vector<int64_t> axes, normalize_axes(ctx, *list, rank));
  std::vector<bool> added(rank, false);
  for (const int64_t axis : axes) added[static_cast<size_t>(axis)] = true;
  Shape out;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) out.push_back(added[d] ? Dim(1) : (*x)[next++]);
  ctx.set(0, ctx.dtype(0), std::move(out));
  if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  return {};
}

// --- expand
// ---------------------------------------------------------------------------------------

Status infer_expand(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> elements, list_operand(ctx, 1, "shape"));
  const auto& x = ctx.shape(0);
  if (!x || !elements) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  EC_CHECK_OK(require_rank_limit(ctx, elements->size()));
  Shape target;
  for (const ShapeElement& element : *elements) {
    if (element.is_negative())
      return ctx.bad_value("shape has the negative size " + std::to_string(*element.constant()));
    target.push_back(element.dim());
  }
  EC_TRY(Shape shape, broadcast_shapes(ctx, *x, target));
  const auto count = shape.num_elements();
  const auto tracked = tracked_elements(ctx, 0);
  if (tracked && tracked->size() == 1 && count && *count <= static_cast<int64_t>(kMaxRank))
    track_result(ctx, 0, Elements(static_cast<size_t>(*count), tracked->front()));
  else if (tracked && count && *count == static_cast<int64_t>(tracked->size()))
    track_result(ctx, 0, *tracked);
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

Status expand(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  strided_copy(y.data, row_major_strides(y.shape), x.data, broadcast_strides(x.shape, y.shape),
               y.shape, element_size(x.dtype));
  return {};
}

// --- shape and size
// -------------------------------------------------------------------------------

// The dimensions [first, last) that a shape op gives.
std::pair<size_t, size_t> shape_range(const ShapeAttrs& attrs, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + r : v, 0, r); };
  const int64_t first = clamp(attrs.start);
  const int64_t last = std::max(first, clamp(attrs.end));
  return {static_cast<size_t>(first), static_cast<size_t>(last)};
}

Status infer_shape(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  if (!x) {
    ctx.set(0, DType::I64, Shape{Dim::unknown()});
    return {};
  }
  const auto [first, last] = shape_range(ctx.attrs<ShapeAttrs>(), x->rank());
  ctx.set(0, DType::I64, Shape{static_cast<int64_t>(last - first)});
  const auto begin = x->begin() + static_cast<std::ptrdiff_t>(first);
  track_result(ctx, 0, std::vector<Dim>(begin, begin + static_cast<std::ptrdiff_t>(last - first)));
  return {};
}

Status shape(KernelContext& ctx) {
  const auto& x = ctx.input(0);
  const auto [first, last] = shape_range(ctx.attrs<ShapeAttrs>(), x.rank());
  EC_CHECK_OK(prepare_output(ctx, 0, DType::I64, {static_cast<int64_t>(last - first)}));
  for (size_t d = first; d < last; ++d) ctx.output(0).as<int64_t>()[d - first] = x.shape[d];
  return {};
}

Status infer_size(InferContext& ctx) {
  ctx.set(0, DType::I64, Shape{});
  if (!ctx.shape(0)) return {};
  DimProduct product;
  for (const Dim& dim : *ctx.shape(0)) product.multiply(dim);
  track_result(ctx, 0, std::vector<Dim>{product.as_dim()});
  return {};
}

Status size(KernelContext& ctx) {
  ctx.output(0).as<int64_t>()[0] = ctx.input(0).count();
  return {};
}

}  // namespace

constexpr Rule kReshapeRules[] = {rule::integers("shape"), rule::rank("shape", 1)};
EC_OP_DEF(Reshape, .signature = "(x, shape) -> y",
          .summary =
              "The elements of x in the same order with another shape. One entry may be -1 "
              "(what remains); 0 copies the input's dimension unless allow_zero.",
          .rules = kReshapeRules, .traits = {.view = true}, .infer = infer_reshape,
          .reference = copy_through, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kFlattenRules[] = {rule::axis_or_end("axis", "x")};
EC_OP_DEF(Flatten, .signature = "(x) -> y",
          .summary = "Two dimensions: the product of those before axis and of those from it on.",
          .rules = kFlattenRules, .traits = {.view = true}, .infer = infer_flatten,
          .reference = copy_through, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kSqueezeRules[] = {rule::integers("axes")};
EC_OP_DEF(Squeeze, .signature = "(x, axes?) -> y",
          .summary = "Removes the listed dimensions of size 1, or all such when none are listed.",
          .rules = kSqueezeRules, .traits = {.view = true}, .infer = infer_squeeze,
          .reference = copy_through, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
EC_OP_DEF(Unsqueeze, .signature = "(x, axes) -> y",
          .summary = "Inserts dimensions of size 1 at the listed positions of the result.",
          .rules = kSqueezeRules, .traits = {.view = true}, .infer = infer_unsqueeze,
          .reference = copy_through, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kExpandRules[] = {rule::integers("shape"), rule::rank("shape", 1),
                                 rule::not_negative("shape")};
EC_OP_DEF(Expand, .signature = "(x, shape) -> y",
          .summary = "x repeated to the broadcast of its shape and the given one.",
          .rules = kExpandRules, .infer = infer_expand, .reference = expand,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::AxisAttr);
EC_OP_DEF(Shape, .signature = "(x) -> y",
          .summary = "The dimensions [start, end) of x as an i64 list.", .infer = infer_shape,
          .reference = shape);
EC_OP_DEF(Size, .signature = "(x) -> y", .summary = "The number of elements of x as an i64 scalar.",
          .infer = infer_size, .reference = size);

}  // namespace ec::ops
