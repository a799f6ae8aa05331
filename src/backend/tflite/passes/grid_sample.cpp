// Sampling at computed coordinates: pixels gathered from the flattened image, weighted and added.
#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// Coordinates in [-1, 1] as coordinates in pixels along one dimension.
Tensor* pixel_coordinates(Replacement& p, Tensor* grid, int64_t which, int64_t size,
                          const GridSampleAttrs& attrs) {
  Tensor* g = p.slice(grid, 3, which, which + 1);
  const auto n = static_cast<double>(size);
  Tensor* at = attrs.align_corners ? p.mul(p.add(g, 1.0), (n - 1) / 2)
                                   : p.add(p.mul(p.add(g, 1.0), n / 2), -0.5);
  if (attrs.padding != BorderMode::Border || !p.ok()) return at;
  return p.op(OpKind::Clip, {at, p.number(at, 0), p.number(at, n - 1)});
}

// One neighbour along one dimension: where, and with what weight (none outside the image).
struct Tap {
  Tensor *at = nullptr, *weight = nullptr;
};
Tap tap(Replacement& p, Tensor* at, Tensor* weight, int64_t size) {
  Tensor* inside =
      p.op(OpKind::Clip, {at, p.number(at, 0), p.number(at, static_cast<double>(size - 1))});
  Tensor* hit = p.cast(p.op(OpKind::Equal, {at, inside}), DType::F32);
  return {p.cast(inside, DType::I32), weight == nullptr ? hit : p.mul(weight, hit)};
}

std::vector<Tap> taps(Replacement& p, Tensor* at, int64_t size, ResizeMode mode) {
  if (mode == ResizeMode::Nearest) return {tap(p, p.unary(OpKind::Round, at), nullptr, size)};
  Tensor* low = p.unary(OpKind::Floor, at);
  Tensor* rest = p.sub(at, low);
  if (!p.ok()) return {};
  return {tap(p, low, p.sub(p.number(at, 1), rest), size), tap(p, p.add(low, 1.0), rest, size)};
}

Result<bool> expand_grid_sample(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<GridSampleAttrs>();
  const auto x = static_shape(op->input(0)), out = static_shape(op->output());
  if (!is_plain(op) || !x || !out || x->size() != 4 || op->output()->dtype() != DType::F32)
    return false;
  if (attrs.mode == ResizeMode::Cubic || attrs.padding == BorderMode::Reflection) return false;
  const int64_t n = (*x)[0], c = (*x)[1], h = (*x)[2], w = (*x)[3];
  if (n > kMostTableEntries) return false;
  Replacement p(r, op);
  Tensor* pixels = p.sized(p.transpose(op->input(0), {0, 2, 3, 1}), {n * h * w, c});
  const auto columns = taps(p, pixel_coordinates(p, op->input(1), 0, w, attrs), w, attrs.mode);
  const auto rows = taps(p, pixel_coordinates(p, op->input(1), 1, h, attrs), h, attrs.mode);
  // Where each image of the batch begins.
  std::vector<int32_t> begins;
  for (int64_t i = 0; i < n; ++i) begins.push_back(static_cast<int32_t>(i * h * w));
  Tensor* image =
      r.graph().add_constant<int32_t>("", Shape{n, 1, 1, 1}, std::span<const int32_t>(begins));
  Tensor* sum = nullptr;
  for (const Tap& row : rows)
    for (const Tap& column : columns) {
      Tensor* at = p.add(p.mul(row.at, static_cast<double>(w)), column.at);
      at = p.sized(n > 1 ? p.add(at, image) : at, {n, (*out)[2], (*out)[3]});
      Tensor* pixel = p.op(OpKind::Gather, {pixels, at}, GatherAttrs{.axis = 0});
      Tensor* part = p.mul(pixel, p.mul(row.weight, column.weight));
      sum = sum == nullptr ? part : p.add(sum, part);
    }
  return p.replace(p.transpose(sum, {0, 3, 1, 2}));
}

// The coordinates of all pixels times the affine maps.
Result<bool> expand_affine_grid(Rewriter& r, Operation* op) {
  const auto out = static_shape(op->output());
  if (!is_plain(op) || !out || out->size() != 4 || op->output()->dtype() != DType::F32)
    return false;
  const bool align = op->attrs_as<AffineGridAttrs>().align_corners;
  const int64_t h = (*out)[1], w = (*out)[2];
  if (!fits_table(h, w)) return false;
  const auto coordinate = [align](int64_t i, int64_t size) {
    const auto n = static_cast<double>(size), k = static_cast<double>(i);
    if (!align) return (2 * k + 1) / n - 1;
    return size == 1 ? 0.0 : 2 * k / (n - 1) - 1;
  };
  std::vector<float> base;
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      base.push_back(static_cast<float>(coordinate(x, w)));
      base.push_back(static_cast<float>(coordinate(y, h)));
      base.push_back(1.0f);
    }
  Replacement p(r, op);
  Tensor* all_coordinates = p.floats(Shape{1, h * w, 3}, base);
  Tensor* grid =
      p.op(OpKind::MatMul, {all_coordinates, op->input(0)}, MatMulAttrs{.transpose_b = true});
  return p.replace(p.sized(grid, *out));
}

constexpr RewriteRule kRules[] = {
    {OpKind::GridSample, expand_grid_sample, "sampled grids"},
    {OpKind::AffineGrid, expand_affine_grid, "sampled grids"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteGridSample = kRules;

}  // namespace ec::passes
