// Sampling of images at the points of a grid, and grids of affine maps.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/define.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- grid_sample ---------------------------------------------------------------------------------

Status infer_grid_sample(InferContext& ctx) {
  if (ctx.dtype(0) == DType::Bool)
    return ctx.bad_type("grid_sample needs numbers, not " + operand_text(ctx, 0));
  if (!is_float(ctx.dtype(1)))
    return ctx.bad_type("the grid should be floats, not " + operand_text(ctx, 1));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  const auto& x = ctx.shape(0);
  const auto& grid = ctx.shape(1);
  for (size_t i = 0; i < 2; ++i)
    if (ctx.shape(i) && ctx.shape(i)->rank() < 3)
      return ctx.bad_shape("grid_sample needs an image and a grid, not " + operand_text(ctx, i));
  if (x && grid) {
    const Dim &points = (*grid)[grid->rank() - 1], &batch = (*grid)[0];
    const bool fits =
        x->rank() == grid->rank() &&
        (!points.is_static() || points.size() == static_cast<int64_t>(x->rank()) - 2) &&
        (!batch.is_static() || !(*x)[0].is_static() || batch == (*x)[0]);
    if (!fits)
      return ctx.bad_shape("grid " + operand_text(ctx, 1) + " does not fit image " +
                           operand_text(ctx, 0));
  }
  if (!grid) return {};
  Shape out = *grid;
  for (size_t d = out.rank() - 1; d > 1; --d) out[d] = (*grid)[d - 1];
  out[1] = x ? (*x)[1] : Dim::unknown();
  if (!out[0].is_static() && x) out[0] = (*x)[0];
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// A coordinate folded back at the borders until it lies between them.
template <class C>
C reflect(C x, C low, C high) {
  const C range = high - low;
  if (!(range > C{0})) return low;
  if (x >= low && x <= high) return x;
  const C beyond = x < low ? low - x : x - high;
  const C folds = std::floor(beyond / range);
  const C rest = beyond - folds * range;
  const bool even = std::fmod(folds, C{2}) == C{0};
  return (x < low) == even ? low + rest : high - rest;
}

// One axis of the image: where coordinates in [-1, 1] lie and what is beyond the borders.
template <class C>
struct SampleAxis {
  int64_t size;
  C low, high;
  BorderMode border;
  bool align_corners;

  C position(C normalized, bool round) const {
    const auto n = static_cast<C>(size);
    C x = align_corners ? (normalized + C{1}) / C{2} * (n - C{1})
                        : ((normalized + C{1}) * n - C{1}) / C{2};
    // Grids are data: what is no number lies outside, and far away is far enough.
    x = std::isnan(x) ? C{-1} : std::clamp(x, static_cast<C>(-1e9), static_cast<C>(1e9));
    if (round) x = std::nearbyint(x);
    if (x >= low && x <= high) return x;
    if (border == BorderMode::Border) return std::clamp(x, C{0}, n - C{1});
    return border == BorderMode::Reflection ? reflect(x, low, high) : x;
  }
  // Element at i, or -1 for zero.
  int64_t element(int64_t i) const {
    if (i >= 0 && i < size) return i;
    if (border == BorderMode::Zeros) return -1;
    if (border == BorderMode::Border) return std::clamp<int64_t>(i, 0, size - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<C>(i), low, high)), 0,
                               size - 1);
  }
};

// Elements and weights of one axis for one point.
template <class C>
struct AxisTaps {
  int count = 1;
  std::array<int64_t, 4> index{};
  std::array<C, 4> weight{};
};

template <class C>
AxisTaps<C> axis_taps(const SampleAxis<C>& axis, ResizeMode mode, C normalized) {
  const C x = axis.position(normalized, mode == ResizeMode::Nearest);
  const auto base = static_cast<int64_t>(std::floor(x));
  const C t = x - static_cast<C>(base);
  AxisTaps<C> taps;
  if (mode == ResizeMode::Nearest) {
    taps.weight = {C{1}};
    taps.index = {axis.element(static_cast<int64_t>(x))};
  } else if (mode == ResizeMode::Linear) {
    taps = {2, {axis.element(base), axis.element(base + 1)}, {C{1} - t, t}};
  } else {
    constexpr C a = static_cast<C>(-0.75);
    const auto near = [&](C d) { return ((a + C{2}) * d - (a + C{3})) * d * d + C{1}; };
    const auto far = [&](C d) { return ((a * d - C{5} * a) * d + C{8} * a) * d - C{4} * a; };
    taps = {4, {}, {far(t + C{1}), near(t), near(C{1} - t), far(C{2} - t)}};
    for (int i = 0; i < 4; ++i) taps.index[static_cast<size_t>(i)] = axis.element(base - 1 + i);
  }
  return taps;
}

// Offsets into a plane and their weights: the product of the axes' taps.
template <class C>
void combine(std::span<const AxisTaps<C>> taps, std::span<const SampleAxis<C>> axes,
             std::vector<std::pair<int64_t, C>>& out) {
  out.assign(1, {0, C{1}});
  std::vector<std::pair<int64_t, C>> next;
  for (size_t d = 0; d < taps.size(); ++d) {
    next.clear();
    for (const auto& [offset, weight] : out)
      for (int i = 0; i < taps[d].count; ++i) {
        const auto k = static_cast<size_t>(i);
        if (taps[d].index[k] >= 0)
          next.emplace_back(offset * axes[d].size + taps[d].index[k], weight * taps[d].weight[k]);
      }
    out.swap(next);
  }
}

template <class C>
void run_grid_sample(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<GridSampleAttrs>();
  const auto xs = ctx.input(0).shape, os = ctx.output(0).shape;
  const size_t rank = xs.size() - 2;
  std::vector<SampleAxis<C>> axes;
  for (size_t d = 0; d < rank; ++d) {
    const auto n = static_cast<C>(xs[d + 2]);
    axes.push_back(attrs.align_corners
                       ? SampleAxis<C>{xs[d + 2], C{0}, n - C{1}, attrs.padding, true}
                       : SampleAxis<C>{xs[d + 2], C{-0.5}, n - C{0.5}, attrs.padding, false});
  }
  const int64_t plane = count_elements(xs.subspan(2)), points = count_elements(os.subspan(2));
  const Reader<C> x(ctx.input(0)), grid(ctx.input(1));
  Writer<C> out(ctx.output(0));
  std::vector<AxisTaps<C>> taps(rank);
  std::vector<std::pair<int64_t, C>> parts;
  Ticker ticker;
  for (int64_t n = 0; n < os[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      if (ticker.tick(32 + 8 * os[1])) return;
      const C* point = grid.data() + (n * points + p) * static_cast<int64_t>(rank);
      // The grid names the innermost dimension first.
      for (size_t d = 0; d < rank; ++d)
        taps[d] = axis_taps(axes[d], attrs.mode, point[rank - 1 - d]);
      combine<C>(taps, axes, parts);
      for (int64_t c = 0; c < os[1]; ++c) {
        C sum{};
        for (const auto& [offset, weight] : parts)
          sum += weight * x[static_cast<size_t>((n * os[1] + c) * plane + offset)];
        out[static_cast<size_t>((n * os[1] + c) * points + p)] = sum;
      }
    }
  out.commit();
}

Status reference_grid_sample(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  if (ctx.input(0).count() == 0) return ctx.fail("the image has no elements");
  if (ctx.input(0).rank() > 2 + 8) return ctx.fail("the image has too many dimensions");
  with_float_type(ctx.output(0).dtype, [&](auto type) { run_grid_sample<decltype(type)>(ctx); });
  return {};
}

// --- affine_grid ---------------------------------------------------------------------------------

Status infer_affine_grid(InferContext& ctx) {
  if (!is_float(ctx.dtype(0)))
    return ctx.bad_type("affine_grid needs a float type, not " + operand_text(ctx, 0));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  std::optional<int64_t> spatial;  // 2 or 3
  const auto& theta = ctx.shape(0);
  if (theta && theta->rank() != 3)
    return ctx.bad_shape("the maps should be [N, 2, 3] or [N, 3, 4], not " + operand_text(ctx, 0));
  if (theta && (*theta)[1].is_static()) spatial = (*theta)[1].size();
  EC_CHECK_OK(check_sizes(ctx, 1));
  const auto size = ctx.dim_values(1);
  if (size && !spatial) spatial = static_cast<int64_t>(size->size()) - 2;
  if (!spatial) return {};
  if ((*spatial != 2 && *spatial != 3) ||
      (size && static_cast<int64_t>(size->size()) != *spatial + 2) ||
      (theta && (*theta)[2].is_static() && (*theta)[2].size() != *spatial + 1))
    return ctx.bad_shape("maps " + operand_text(ctx, 0) + " do not fit size " +
                         (size ? Shape(*size).text() : operand_text(ctx, 1)));
  Shape out(std::vector<Dim>(static_cast<size_t>(*spatial) + 2, Dim::unknown()));
  if (size) {
    out[0] = (*size)[0];
    for (size_t d = 2; d < size->size(); ++d) out[d - 1] = (*size)[d];
  }
  if (theta) {
    const Dim& batch = (*theta)[0];
    if (batch.is_static() && out[0].is_static() && batch != out[0])
      return ctx.bad_shape("maps " + operand_text(ctx, 0) + " do not fit size " +
                           Shape(*size).text());
    if (!out[0].is_static()) out[0] = batch;
  }
  out[out.rank() - 1] = Dim(*spatial);
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status reference_affine_grid(KernelContext& ctx) {
  const auto os = ctx.output(0).shape;
  const bool align = ctx.attrs<AffineGridAttrs>().align_corners;
  const auto spatial = os.size() - 2;
  if (ctx.output(0).count() == 0) return {};
  const Reader<double> theta(ctx.input(0));
  Writer<double> out(ctx.output(0));
  const auto coordinate = [&](size_t d, int64_t i) {
    const auto n = static_cast<double>(os[d + 1]), k = static_cast<double>(i);
    if (!align) return (2.0 * k + 1.0) / n - 1.0;
    return os[d + 1] == 1 ? 0.0 : 2.0 * k / (n - 1.0) - 1.0;
  };
  IndexWalker walker(os.first(spatial + 1));
  double* target = out.data();
  do {
    const double* map =
        theta.data() + walker.index()[0] * static_cast<int64_t>(spatial * (spatial + 1));
    for (size_t r = 0; r < spatial; ++r, map += spatial + 1) {
      double sum = map[spatial];
      // Columns name the innermost dimension first.
      for (size_t c = 0; c < spatial; ++c) {
        const size_t d = spatial - 1 - c;
        sum += map[c] * coordinate(d, walker.index()[d + 1]);
      }
      *target++ = sum;
    }
  } while (walker.next());
  out.commit();
  return {};
}

}  // namespace

constexpr Rule kGridSampleRules[] = {rule::numbers("x"), rule::floats("grid"),
                                     rule::min_rank("x", 3), rule::same_rank("grid", "x")};
EC_OP_DEF(GridSample, .signature = "(x, grid) -> y",
          .summary =
              "Samples images at the grid's points, given in [-1, 1], by nearest, linear or cubic "
              "interpolation.",
          .rules = kGridSampleRules, .infer = infer_grid_sample, .reference = reference_grid_sample,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);
constexpr Rule kAffineGridRules[] = {rule::floats("theta"), rule::rank("theta", 3),
                                     rule::integers("size"), rule::not_negative("size")};
EC_OP_DEF(
    AffineGrid, .signature = "(theta, size) -> grid",
    .summary = "Grid of sampling points: an affine map of every element's position in [-1, 1].",
    .rules = kAffineGridRules, .infer = infer_affine_grid, .reference = reference_affine_grid,
    .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
