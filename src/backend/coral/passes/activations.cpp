// Element-wise functions that the Edge TPU lacks, as formulas of those it has.
#include <cmath>

#include "backend/coral/passes/rules.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// One slope per channel, the form that the device knows.
Result<bool> leaky_to_prelu(Rewriter& r, Operation* op) {
  Tensor* x = op->input(0);
  const auto sizes = static_shape(x);
  const float alpha = op->attrs_as<LeakyReluAttrs>().alpha;
  if (!sizes || sizes->empty() || !fits_table(std::span(*sizes).last(1)) ||
      !(std::isfinite(alpha) && alpha > 0))
    return false;
  std::vector<int64_t> shape = {sizes->back()};
  if (sizes->size() == 4) shape = {1, 1, sizes->back()};
  const auto channels = static_cast<size_t>(sizes->back());
  Replacement p(r, op);
  Tensor* slopes = nullptr;
  if (is_float_form(op) && x->dtype() == DType::F32) {
    slopes = p.floats(Shape::of(shape), std::vector<float>(channels, alpha));
  } else if (x->type().quant && (x->dtype() == DType::I8 || x->dtype() == DType::U8)) {
    // Stored as 1 with the slope as its scale, the factor has the same value as before.
    TensorType type(x->dtype(), Shape::of(shape));
    type.quant = QuantParams{{alpha}, {0}, -1};
    slopes = r.graph().add_constant(
        "", std::move(type),
        Blob::copy_of(std::span<const uint8_t>(std::vector<uint8_t>(channels, 1))));
  } else {
    return false;
  }
  return rewritten(p, p.op(OpKind::Prelu, {x, slopes}), "PRELU with one slope per channel");
}

// x relu6(x + 3) / 6
Result<bool> hard_swish_to_product(Rewriter& r, Operation* op) {
  if (!is_float_form(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* shifted = p.add(x, 3);
  Tensor* clipped = p.op(OpKind::Clip, {shifted, p.number(x, 0), p.number(x, 6)});
  return rewritten(p, p.mul(x, p.mul(clipped, 1.0 / 6)), "x relu6(x + 3) / 6");
}

// RELU_0_TO_1 is not among the device's activations.
Result<bool> unit_clip_to_bounds(Rewriter& r, Operation* op) {
  const auto low = scalar_value(op->input(1)), high = scalar_value(op->input(2));
  if (low != 0.0 || high != 1.0 || !is_float_form(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  return rewritten(p, p.min(p.unary(OpKind::Relu, x), 1.0), "RELU and MINIMUM");
}

Result<bool> abs_to_max(Rewriter& r, Operation* op) {
  if (!is_float_form(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  return rewritten(p, p.max(x, p.mul(x, -1)), "the larger of x and -x");
}

Result<bool> neg_to_product(Rewriter& r, Operation* op) {
  if (!is_float_form(op)) return false;
  Replacement p(r, op);
  return rewritten(p, p.mul(op->input(0), -1), "a product with -1");
}

// Division by constants.
Result<bool> div_to_product(Rewriter& r, Operation* op) {
  Tensor* divisor = op->input(1);
  if (!is_float_form(op) || !is_constant(divisor) || divisor->dtype() != DType::F32) return false;
  std::vector<float> inverse = float_values(divisor);
  for (float& value : inverse) {
    value = 1 / value;
    if (!std::isfinite(value)) return false;
  }
  Replacement p(r, op);
  return rewritten(p, p.mul(op->input(0), p.floats(*divisor->shape(), inverse)),
                   "a product with the inverse");
}

// A slope for each element: relu(x) + slopes min(x, 0).
Result<bool> prelu_map_to_sum(Rewriter& r, Operation* op) {
  const auto slopes = static_shape(op->input(1));
  if (!is_float_form(op) || !is_constant(op->input(1)) || !slopes) return false;
  bool is_map = false;
  for (size_t d = 0; d + 1 < slopes->size(); ++d) is_map = is_map || (*slopes)[d] > 1;
  if (!is_map) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* below = p.mul(p.min(x, 0.0), op->input(1));
  return rewritten(p, p.add(p.unary(OpKind::Relu, x), below), "relu(x) + slopes min(x, 0)");
}

constexpr RewriteRule kRules[] = {
    {OpKind::LeakyRelu, leaky_to_prelu, "activations"},
    {OpKind::HardSwish, hard_swish_to_product, "activations"},
    {OpKind::Clip, unit_clip_to_bounds, "activations"},
    {OpKind::Abs, abs_to_max, "activations"},
    {OpKind::Neg, neg_to_product, "activations"},
    {OpKind::Div, div_to_product, "activations"},
    {OpKind::Prelu, prelu_map_to_sum, "activations"},
};

}  // namespace

const std::span<const RewriteRule> kCoralActivations = kRules;

}  // namespace ec::passes
