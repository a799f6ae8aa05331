// Resizing: one of TFLite's two operators where it reads the same elements with the same weights,
// else rows gathered (nearest) or mixed by a constant matrix (all other interpolation), one
// dimension at a time.
#include <algorithm>
#include <cmath>

#include "backend/tflite/passes/rules.h"
#include "ops/resize_taps.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

struct Plan {
  std::vector<ResizeAxis> axes;
  std::vector<size_t> changed;
};

std::optional<ConstView> constant_view(const Tensor* tensor, std::vector<int64_t>& shape) {
  if (tensor == nullptr || tensor->type().num_elements() == 0) return std::nullopt;
  shape = tensor->shape()->sizes();
  return ConstView{tensor->dtype(), shape, tensor->data().bytes().data()};
}

std::optional<Plan> plan_of(const Operation* op) {
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!in || !out || has_quant(op)) return std::nullopt;
  if (op->input(0)->type().num_elements() == 0) return std::nullopt;  // no pixel to take
  std::vector<int64_t> shapes[3];
  std::optional<ConstView> views[3];
  for (size_t i = 0; i < 3; ++i) {
    if (op->input(i + 1) != nullptr && !op->input(i + 1)->is_constant()) return std::nullopt;
    views[i] = constant_view(op->input(i + 1), shapes[i]);
  }
  const auto pointer = [&](size_t i) { return views[i] ? &*views[i] : nullptr; };
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  Plan plan;
  plan.axes = resize_axes(attrs, *in, *out, pointer(0), pointer(1), pointer(2));
  for (size_t d = 0; d < plan.axes.size(); ++d)
    if (!plan.axes[d].is_identity(attrs.coordinates)) plan.changed.push_back(d);
  return plan;
}

// What the file's operator computes in the IR's words.
ResizeAttrs operator_form(ResizeMode mode, CoordinateMode coordinates) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  attrs.nearest =
      coordinates == CoordinateMode::Asymmetric ? NearestMode::Floor : NearestMode::RoundPreferCeil;
  return attrs;
}

// The element that the nearest-neighbour operator reads, in its own single precision.
int64_t operator_index(CoordinateMode coordinates, int64_t in, int64_t out, int64_t at) {
  const bool corners = coordinates == CoordinateMode::AlignCorners && out > 1;
  const float scale = corners ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                              : static_cast<float>(in) / static_cast<float>(out);
  const float offset = coordinates == CoordinateMode::HalfPixel ? 0.5f : 0.0f;
  const float x = (static_cast<float>(at) + offset) * scale;
  const auto index = static_cast<int64_t>(
      coordinates == CoordinateMode::AlignCorners ? std::round(x) : std::floor(x));
  return std::clamp<int64_t>(index, 0, in - 1);
}

// Weight of each element for each result, as [out, in].
std::vector<double> matrix_of(const ResizeTaps& taps, const ResizeAxis& axis) {
  std::vector<double> matrix(static_cast<size_t>(axis.output * axis.input), 0);
  for (int64_t o = 0; o < axis.output; ++o)
    for (int64_t i = 0; i < taps.per_output; ++i) {
      const auto tap = static_cast<size_t>(o * taps.per_output + i);
      matrix[static_cast<size_t>(o * axis.input + taps.index[tap])] += taps.weight[tap];
    }
  return matrix;
}

bool reads_the_same(const ResizeAttrs& attrs, const ResizeAttrs& form, const ResizeAxis& axis) {
  if (axis.is_identity(attrs.coordinates)) return true;
  ResizeAxis plain = axis;
  plain.scale = static_cast<double>(axis.output) / static_cast<double>(axis.input);
  if (!has_small_taps(attrs, axis) || !has_small_taps(form, plain)) return false;
  const ResizeTaps given = resize_taps(attrs, axis), taps = resize_taps(form, plain);
  if (!given.outside.empty()) return false;
  if (attrs.mode == ResizeMode::Nearest) {
    for (int64_t o = 0; o < axis.output; ++o)
      if (given.index[static_cast<size_t>(o)] !=
          operator_index(form.coordinates, axis.input, axis.output, o))
        return false;
    return true;
  }
  const std::vector<double> a = matrix_of(given, axis), b = matrix_of(taps, plain);
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-5) return false;
  return true;
}

// The coordinates of an operator that does all of it.
std::optional<CoordinateMode> operator_for(const Operation* op, const Plan& plan) {
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  if (plan.axes.size() != 4 || attrs.mode == ResizeMode::Cubic) return std::nullopt;
  for (const size_t d : plan.changed)
    if (d != 1 && d != 2) return std::nullopt;
  for (const CoordinateMode coordinates :
       {CoordinateMode::Asymmetric, CoordinateMode::HalfPixel, CoordinateMode::AlignCorners}) {
    const ResizeAttrs form = operator_form(attrs.mode, coordinates);
    if (reads_the_same(attrs, form, plan.axes[1]) && reads_the_same(attrs, form, plan.axes[2]))
      return coordinates;
  }
  return std::nullopt;
}

// One dimension by itself; nothing when elements come from outside the image.
Tensor* along(Replacement& p, Tensor* x, const ResizeAttrs& attrs, const ResizeAxis& axis,
              size_t d) {
  const ResizeTaps taps = resize_taps(attrs, axis);
  if (attrs.mode == ResizeMode::Nearest) return p.gather(x, taps.index, static_cast<int64_t>(d));
  const std::vector<double> matrix = matrix_of(taps, axis);
  const std::vector<float> values(matrix.begin(), matrix.end());
  std::vector<int64_t> sizes = x->shape()->sizes();
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < d; ++i) before *= sizes[i];
  for (size_t i = d + 1; i < sizes.size(); ++i) after *= sizes[i];
  Tensor* weights = p.floats(Shape{axis.output, axis.input}, values);
  Tensor* y = nullptr;
  if (after == 1) {
    y = p.sized(x, {before, axis.input});
    y = p.op(OpKind::MatMul, {y, weights}, MatMulAttrs{.transpose_b = true});
  } else {
    y = p.sized(x, {before, axis.input, after});
    y = p.op(OpKind::MatMul, {weights, y}, MatMulAttrs{});
  }
  sizes[d] = axis.output;
  return p.sized(y, sizes);
}

Result<bool> lower_resize(Rewriter& r, Operation* op) {
  const auto plan = plan_of(op);
  if (!plan) return false;
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  for (const size_t d : plan->changed) {
    const ResizeAxis& axis = plan->axes[d];
    // Images of some thousand pixels a side are real.
    const bool nearest = attrs.mode == ResizeMode::Nearest;
    if (!fits_table(axis.output, nearest ? 1 : axis.input / 4) || !has_small_taps(attrs, axis))
      return false;
  }
  Replacement p(r, op);
  if (const auto coordinates = operator_for(op, *plan)) {
    ResizeAttrs form = operator_form(attrs.mode, *coordinates);
    if (attrs == form && op->inputs().size() == 4 && op->input(3) != nullptr) return false;
    Tensor* sizes = p.ints(op->output()->shape()->sizes());
    return p.replace(p.op(OpKind::Resize, {op->input(0), nullptr, nullptr, sizes}, form));
  }
  for (const size_t d : plan->changed)
    if (!resize_taps(attrs, plan->axes[d]).outside.empty()) return false;
  Tensor* x = op->input(0);
  for (const size_t d : plan->changed) {
    x = along(p, x, attrs, plan->axes[d], d);
    if (!p.ok()) break;
  }
  return p.replace(x);
}

constexpr RewriteRule kRules[] = {{OpKind::Resize, lower_resize, "resizes"}};

}  // namespace

const std::span<const RewriteRule> kTfliteResize = kRules;

}  // namespace ec::passes
