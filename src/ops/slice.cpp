// slice: a regular part of a tensor, by starts, ends, axes and steps.
#include <algorithm>
#include <numeric>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"

namespace ec::ops {
namespace {

struct AxisSlice {
  int64_t start = 0, step = 1, count = 0;
};

// Applies ONNX's clamping to one axis of a known size. Requires step != 0.
AxisSlice slice_axis(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (size == 0) return {};
  if (start < 0) start += size;
  if (end < 0) end += size;
  AxisSlice slice;
  slice.step = step;
  if (step > 0) {
    slice.start = std::clamp<int64_t>(start, 0, size);
    const int64_t last = std::clamp<int64_t>(end, 0, size);
    slice.count = last > slice.start ? 1 + (last - slice.start - 1) / step : 0;
  } else {
    slice.start = std::clamp<int64_t>(start, 0, size - 1);
    const int64_t last = std::clamp<int64_t>(end, -1, size - 1);
    slice.count = slice.start > last ? 1 - (slice.start - last - 1) / step : 0;
  }
  // A step that is never taken may be of any size.
  if (slice.count <= 1) slice.step = 1;
  return slice;
}

// The four lists with their defaults, as far as they are known.
struct SliceLists {
  Elements starts, ends, steps;
  std::optional<std::vector<int64_t>> axes;
};

// A number beyond any real dimension stands for "to the end".
constexpr int64_t kFar = INT32_MAX;

// The size of an open dimension's slice: itself when everything is taken, else not known.
Dim open_slice(const Dim& dim, const ShapeElement& start, const ShapeElement& end, int64_t step) {
  const bool ends_at_dim = end.dim().is_symbol() && end.dim().same_size(dim);
  if (step == 1 && start.is(0) && (ends_at_dim || (end.constant() && *end.constant() >= kFar)))
    return dim;
  if (step == -1 && start.constant() && (start.is(-1) || *start.constant() >= kFar) &&
      end.constant() && *end.constant() <= -kFar)
    return dim;
  // A range that ends where it starts, or before, is empty.
  if (step > 0 && end.is(0)) return Dim(0);
  if (step > 0 && start.constant() && end.constant() && *start.constant() >= *end.constant() &&
      (*start.constant() < 0) == (*end.constant() < 0))
    return Dim(0);
  return Dim::unknown();
}

Result<std::optional<SliceLists>> slice_lists(const InferContext& ctx) {
  EC_TRY(std::optional<Elements> starts, list_operand(ctx, 1, "starts"));
  EC_TRY(std::optional<Elements> ends, list_operand(ctx, 2, "ends"));
  SliceLists lists;
  std::optional<size_t> count;
  const auto agree = [&](size_t n) { return count.value_or(n) == n ? (count = n, true) : false; };
  const auto differ = [&] {
    return ctx.bad_shape("starts, ends, axes and steps differ in length");
  };
  if (starts && !agree(starts->size())) return differ();
  if (ends && !agree(ends->size())) return differ();
  if (ctx.has(3)) {
    EC_TRY(const auto elements, list_operand(ctx, 3, "axes"));
    EC_TRY(lists.axes, known_list(ctx, 3, "axes"));
    if (elements && !agree(elements->size())) return differ();
  }
  std::optional<Elements> steps;
  if (ctx.has(4)) {
    EC_TRY(steps, list_operand(ctx, 4, "steps"));
    if (steps && !agree(steps->size())) return differ();
    for (const ShapeElement& step : steps.value_or(Elements{}))
      if (step.is(0)) return ctx.bad_value("a step is zero");
  }
  if (!count) return std::optional<SliceLists>{};
  lists.starts = std::move(starts).value_or(unknown_elements(*count));
  lists.ends = std::move(ends).value_or(unknown_elements(*count));
  lists.steps = ctx.has(4) ? std::move(steps).value_or(unknown_elements(*count))
                           : Elements(*count, ShapeElement::constant(1));
  if (!ctx.has(3)) {
    lists.axes.emplace(*count);
    std::iota(lists.axes->begin(), lists.axes->end(), 0);
  }
  return std::optional<SliceLists>(std::move(lists));
}

// The elements of a sliced list whose elements are tracked.
void track_slice(InferContext& ctx, const AxisSlice& slice) {
  const auto tracked = tracked_elements(ctx, 0);
  if (!tracked) return;
  Elements taken;
  for (int64_t i = 0; i < slice.count; ++i)
    taken.push_back((*tracked)[static_cast<size_t>(slice.start + i * slice.step)]);
  track_result(ctx, 0, taken);
}

Status infer_slice(InferContext& ctx) {
  EC_TRY(const std::optional<SliceLists> lists, slice_lists(ctx));
  const auto& x = ctx.shape(0);
  if (!x) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  if (!lists || !lists->axes) {
    ctx.set(0, ctx.dtype(0), Shape(std::vector<Dim>(x->rank(), Dim::unknown())));
    return {};
  }
  EC_TRY(const std::vector<int64_t> axes, normalize_axes(ctx, *lists->axes, x->rank()));
  Shape out = *x;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(axes[i])];
    const ShapeElement &start = lists->starts[i], &end = lists->ends[i], &step = lists->steps[i];
    if (!step.constant()) {
      dim = Dim::unknown();
    } else if (dim.is_static() && start.constant() && end.constant()) {
      const AxisSlice slice =
          slice_axis(dim.size(), *start.constant(), *end.constant(), *step.constant());
      dim = Dim(slice.count);
      if (x->rank() == 1) track_slice(ctx, slice);
    } else {
      dim = open_slice(dim, start, end, *step.constant());
    }
  }
  // No axes: the whole list passes.
  if (axes.empty())
    if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status slice(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const std::vector<int64_t> starts = read_ints(ctx, 1), ends = read_ints(ctx, 2);
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.has(3)) axes = read_ints(ctx, 3);
  if (ctx.has(4)) steps = read_ints(ctx, 4);
  // Lists that only the run knows were not seen by inference.
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    return ctx.fail("the lists of starts, ends, axes and steps differ in length");
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  const std::vector<int64_t> strides = row_major_strides(x.shape);
  std::vector<int64_t> from = strides;
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto rank = static_cast<int64_t>(x.rank());
    if (axes[i] < -rank || axes[i] >= rank)
      return ctx.fail("axis " + std::to_string(axes[i]) + " is outside the " +
                      std::to_string(rank) + " dimensions of the input");
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (steps[i] == 0) return ctx.fail("a step is 0");
    const AxisSlice part = slice_axis(x.shape[axis], starts[i], ends[i], steps[i]);
    shape[axis] = part.count;
    from[axis] = part.step * strides[axis];
    if (part.count > 0) offset += part.start * strides[axis];
  }
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, shape));
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  const size_t bytes = element_size(x.dtype);
  strided_copy(y.data, row_major_strides(shape), x.data + static_cast<size_t>(offset) * bytes, from,
               shape, bytes);
  return {};
}

}  // namespace

constexpr Rule kSliceRules[] = {rule::integers("starts"), rule::integers("ends"),
                                rule::integers("axes"),   rule::integers("steps"),
                                rule::rank("starts", 1),  rule::rank("ends", 1)};
EC_OP_DEF(Slice, .signature = "(x, starts, ends, axes?, steps?) -> y",
          .summary =
              "Every steps[i]-th element from starts[i] to before ends[i] along axes[i]; "
              "negative indices count from the end, indices outside are clamped.",
          .rules = kSliceRules, .infer = infer_slice, .reference = slice,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::AxisAttr);

}  // namespace ec::ops
