// pad and center_crop_pad: elements added around a tensor, or removed where a pad is negative.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// Elements to add on both sides of each dimension; negative values remove.
struct Pads {
  std::vector<int64_t> before, after;
};

// The size after padding, or empty when more is removed than there is.
std::optional<int64_t> padded_size(int64_t size, int64_t before, int64_t after) {
  const int64_t cut_front = std::min<int64_t>(before, 0), cut_back = std::min<int64_t>(after, 0);
  // Both are at most zero and the size at least zero: only the second sum can overflow.
  if (cut_front < -size || cut_back < -(size + cut_front)) return std::nullopt;
  const auto front = checked_add(size + cut_front + cut_back, std::max<int64_t>(before, 0));
  return front ? checked_add(*front, std::max<int64_t>(after, 0)) : std::nullopt;
}

class Padder {
 public:
  Padder(const ConstView& x, const MutableView& y, Pads pads, PadMode mode,
         std::span<const std::byte> element)
      : x_(x),
        y_(y),
        pads_(std::move(pads)),
        mode_(mode),
        element_(element),
        in_(row_major_strides(x.shape)),
        out_(row_major_strides(y.shape)) {
    // Behind the last padded dimension whole runs are copied.
    for (size_t d = 0; d < x.rank(); ++d)
      if (pads_.before[d] != 0 || pads_.after[d] != 0) depth_ = d + 1;
  }

  void run() {
    if (y_.count() == 0) return;
    pad(0, y_.data, x_.data);
  }

 private:
  size_t bytes(int64_t elements) const {
    return static_cast<size_t>(elements) * element_size(x_.dtype);
  }

  void pad(size_t d, std::byte* dst, const std::byte* src) {
    if (depth_ == 0) {
      std::memcpy(dst, src, x_.bytes());
      return;
    }
    const int64_t before = std::max<int64_t>(pads_.before[d], 0);
    const int64_t after = std::max<int64_t>(pads_.after[d], 0);
    const int64_t kept = y_.shape[d] - before - after;
    const size_t slab = bytes(out_[d]), in_slab = bytes(in_[d]);
    if (kept > 0) {
      src += bytes(std::max<int64_t>(-pads_.before[d], 0) * in_[d]);
      std::byte* const middle = dst + static_cast<size_t>(before) * slab;
      if (d + 1 == depth_) {
        std::memcpy(middle, src, static_cast<size_t>(kept) * slab);
      } else {
        for (int64_t i = 0; i < kept && !ticker_.tick(); ++i)
          pad(d + 1, middle + static_cast<size_t>(i) * slab,
              src + static_cast<size_t>(i) * in_slab);
      }
    }
    add_slabs(d, dst, 0, before, before, kept);
    add_slabs(d, dst, before + kept, y_.shape[d], before, kept);
  }

  // Fills the slabs [first, last) of dimension d from those that are there: [start, start + kept).
  void add_slabs(size_t d, std::byte* dst, int64_t first, int64_t last, int64_t start,
                 int64_t kept) {
    const size_t slab = bytes(out_[d]);
    if (mode_ == PadMode::Constant) {
      fill_elements(dst + static_cast<size_t>(first) * slab, element_.data(), element_.size(),
                    (last - first) * out_[d]);
      return;
    }
    for (int64_t i = first; i < last && !ticker_.tick(8 + out_[d] / 4); ++i)
      std::memcpy(dst + static_cast<size_t>(i) * slab,
                  dst + static_cast<size_t>(start + source_index(i - start, kept)) * slab, slab);
  }

  int64_t source_index(int64_t i, int64_t kept) const {
    const auto modulo = [](int64_t a, int64_t n) { return (a % n + n) % n; };
    switch (mode_) {
      case PadMode::Reflect: {
        if (kept == 1) return 0;
        const int64_t period = modulo(i, 2 * (kept - 1));
        return period < kept ? period : 2 * (kept - 1) - period;
      }
      case PadMode::Wrap:
        return modulo(i, kept);
      default:
        return std::clamp<int64_t>(i, 0, kept - 1);
    }
  }

  const ConstView x_;
  const MutableView y_;
  const Pads pads_;
  const PadMode mode_;
  const std::span<const std::byte> element_;
  const std::vector<int64_t> in_, out_;
  size_t depth_ = 0;
  Ticker ticker_;
};

// --- pad
// ------------------------------------------------------------------------------------------

Result<std::optional<std::vector<int64_t>>> pad_axes(InferContext& ctx, size_t rank) {
  if (ctx.has(3)) {
    EC_TRY(const auto list, known_list(ctx, 3, "axes"));
    if (!list) return std::optional<std::vector<int64_t>>{};
    EC_TRY(std::vector<int64_t> axes, normalize_axes(ctx, *list, rank));
    return std::optional<std::vector<int64_t>>(std::move(axes));
  }
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return std::optional<std::vector<int64_t>>(std::move(axes));
}

Result<Dim> padded_dim(InferContext& ctx, const Dim& dim, const ShapeElement& before,
                       const ShapeElement& after) {
  if (before.is(0) && after.is(0)) return dim;
  if (!dim.is_static() || !before.constant() || !after.constant()) return Dim::unknown();
  const auto size = padded_size(dim.size(), *before.constant(), *after.constant());
  if (!size)
    return ctx.bad_value("pads " + std::to_string(*before.constant()) + " and " +
                         std::to_string(*after.constant()) + " do not fit a dimension of " +
                         dim.text());
  const bool added = *before.constant() > 0 || *after.constant() > 0;
  const int64_t kept = dim.size() + std::min<int64_t>(*before.constant(), 0) +
                       std::min<int64_t>(*after.constant(), 0);
  if (added && kept == 0 && ctx.attrs<PadAttrs>().mode != PadMode::Constant)
    return ctx.bad_value("an empty dimension has no elements to repeat");
  return Dim(*size);
}

Status infer_pad(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> pads, list_operand(ctx, 1, "pads"));
  if (ctx.has(2)) {
    EC_CHECK_OK(require_same_type(ctx, 0, 2));
    EC_CHECK_OK(require_scalar(ctx, 2, "value"));
  }
  const auto& x = ctx.shape(0);
  if (!x) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  EC_TRY(const auto axes, pad_axes(ctx, x->rank()));
  if (!axes) {
    ctx.set(0, ctx.dtype(0), Shape(std::vector<Dim>(x->rank(), Dim::unknown())));
    return {};
  }
  const size_t n = axes->size();
  if (pads && pads->size() != 2 * n)
    return ctx.bad_shape("pads lists " + std::to_string(pads->size()) + " numbers for " +
                         std::to_string(n) + " axes");
  const Elements list = pads.value_or(unknown_elements(2 * n));
  Shape out = *x;
  for (size_t i = 0; i < n; ++i) {
    Dim& dim = out[static_cast<size_t>((*axes)[i])];
    EC_TRY(dim, padded_dim(ctx, dim, list[i], list[n + i]));
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status pad(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const std::vector<int64_t> list = read_ints(ctx, 1);
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.has(3)) axes = read_ints(ctx, 3);
  Pads pads{std::vector<int64_t>(x.rank(), 0), std::vector<int64_t>(x.rank(), 0)};
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(x.rank()) : axes[i]);
    pads.before[axis] = list[i];
    pads.after[axis] = list[axes.size() + i];
    const auto size = padded_size(shape[axis], pads.before[axis], pads.after[axis]);
    if (!size) return ctx.fail("pads do not fit dimension " + std::to_string(axis));
    shape[axis] = *size;
  }
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, shape));
  std::vector<std::byte> element = zero_element(ctx.output(0));
  if (ctx.has(2)) std::memcpy(element.data(), ctx.input(2).data, element.size());
  Padder(x, ctx.output(0), std::move(pads), ctx.attrs<PadAttrs>().mode, element).run();
  return {};
}

// --- center_crop_pad
// ------------------------------------------------------------------------------

Result<std::vector<int64_t>> crop_axes(const InferContext& ctx, size_t rank) {
  const auto& attrs = ctx.attrs<CenterCropPadAttrs>();
  if (!attrs.axes.empty()) return attrs.axes;
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Status infer_center_crop_pad(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> sizes, list_operand(ctx, 1, "shape"));
  const auto& x = ctx.shape(0);
  if (!x) {
    ctx.set(0, ctx.dtype(0), std::nullopt);
    return {};
  }
  EC_TRY(const std::vector<int64_t> axes, crop_axes(ctx, x->rank()));
  if (sizes && sizes->size() != axes.size())
    return ctx.bad_shape("shape lists " + std::to_string(sizes->size()) + " sizes for " +
                         std::to_string(axes.size()) + " axes");
  Shape out = *x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ShapeElement size = sizes ? (*sizes)[i] : ShapeElement(Dim::unknown());
    if (size.is_negative())
      return ctx.bad_value("shape has the negative size " + std::to_string(*size.constant()));
    out[static_cast<size_t>(axes[i])] = size.dim();
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status center_crop_pad(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  Pads pads{std::vector<int64_t>(x.rank(), 0), std::vector<int64_t>(x.rank(), 0)};
  for (size_t d = 0; d < x.rank(); ++d) {
    // Halves are rounded down, so an odd rest goes to the back.
    const int64_t change = y.shape[d] - x.shape[d];
    const int64_t front = std::abs(change) / 2;
    pads.before[d] = change < 0 ? -front : front;
    pads.after[d] = change - pads.before[d];
  }
  const std::vector<std::byte> zero = zero_element(y);
  Padder(x, y, std::move(pads), PadMode::Constant, zero).run();
  return {};
}

}  // namespace

constexpr Rule kPadRules[] = {rule::integers("pads"), rule::rank("pads", 1),
                              rule::one_element("value"), rule::integers("axes")};
EC_OP_DEF(Pad, .signature = "(x, pads, value?, axes?) -> y",
          .summary =
              "Adds elements before and after each dimension: a constant, the mirrored, the "
              "nearest or the opposite elements. Negative pads remove.",
          .rules = kPadRules, .infer = infer_pad, .reference = pad, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::AxisAttr);
constexpr Rule kCenterCropPadRules[] = {rule::integers("shape"), rule::rank("shape", 1),
                                        rule::not_negative("shape"), rule::axes("axes", "x")};
EC_OP_DEF(CenterCropPad, .signature = "(x, shape) -> y",
          .summary = "Crops or pads with zeros to the given sizes, keeping the centre.",
          .rules = kCenterCropPadRules, .infer = infer_center_crop_pad,
          .reference = center_crop_pad, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
