// Products: layers with constant weights as [out, in], factors and vectors apart.
#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// Vectors as matrices of one row or column.
Result<bool> raise_vectors(Rewriter& r, Operation* op) {
  Tensor *a = op->input(0), *b = op->input(1);
  const auto rank_a = rank_of(a), rank_b = rank_of(b);
  if (has_quant(op) || !rank_a || !rank_b || (*rank_a > 1 && *rank_b > 1)) return false;
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  if (!op->output()->shape() || op->input(2) != nullptr) return false;
  Replacement p(r, op);
  MatMulAttrs plain = attrs;
  if (*rank_a == 1) {
    a = p.sized(a, {1, -1});
    plain.transpose_a = false;
  }
  if (*rank_b == 1) {
    b = p.sized(b, {-1, 1});
    plain.transpose_b = false;
  }
  return p.replace(p.reshape(p.op(OpKind::MatMul, {a, b}, plain), *op->output()->shape()));
}

// alpha and beta as factors of their own.
Result<bool> split_factors(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<GemmAttrs>();
  Tensor* c = op->input(2);
  const bool factors = attrs.alpha != 1 || (c != nullptr && attrs.beta != 1);
  if (has_quant(op) || !factors || !is_float(op->output()->dtype())) return false;
  Replacement p(r, op);
  GemmAttrs plain = attrs;
  plain.alpha = plain.beta = 1;
  Tensor* y = p.op(OpKind::Gemm, {op->input(0), op->input(1)}, plain);
  if (attrs.alpha != 1) y = p.mul(y, double{attrs.alpha});
  if (c != nullptr && attrs.beta != 0)
    y = p.add(y, attrs.beta == 1 ? c : p.mul(c, double{attrs.beta}));
  return p.replace(y);
}

Result<bool> split_alpha(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  if (has_quant(op) || attrs.alpha == 1 || !is_float(op->output()->dtype())) return false;
  Replacement p(r, op);
  MatMulAttrs plain = attrs;
  plain.alpha = 1;
  Tensor* y = p.op(OpKind::MatMul, {op->input(0), op->input(1)}, plain);
  y = p.mul(y, double{attrs.alpha});
  return p.replace(op->input(2) == nullptr ? y : p.add(y, op->input(2)));
}

// Constant weights in the order of layers.
template <class Attributes>
Result<bool> transpose_weights(Rewriter& r, Operation* op) {
  auto attrs = op->attrs_as<Attributes>();
  Tensor* b = op->input(1);
  if (has_quant(op) || attrs.transpose_b || !is_constant(b) || rank_of(b) != 2) return false;
  EC_TRY(Tensor * weights, r.add_folded(OpKind::Transpose, {b}, TransposeAttrs{{1, 0}}));
  attrs.transpose_b = true;
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = weights;
  EC_TRY(Tensor * y, r.add(op->kind(), std::move(inputs), attrs, {op}));
  r.replace(op, y);
  return true;
}

// A bias that is no list of its own for each output is added behind.
template <class Attributes>
Result<bool> split_bias(Rewriter& r, Operation* op) {
  Tensor* bias = op->input(2);
  if (bias == nullptr || has_quant(op)) return false;
  const std::optional<Shape>& out = op->output()->shape();
  const std::optional<Shape>& list = bias->shape();
  if (is_constant(bias) && list && out && out->rank() > 0 && list->rank() == 1 &&
      (*list)[0].same_size((*out)[out->rank() - 1]))
    return false;
  Replacement p(r, op);
  Tensor* y = p.op(op->kind(), {op->input(0), op->input(1)}, op->attrs_as<Attributes>());
  return p.replace(p.add(y, bias));
}

// A linear layer on more than three dimensions: on its rows.
Result<bool> flatten_rows(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  Tensor* x = op->input(0);
  const auto sizes = static_shape(x), out = static_shape(op->output());
  if (has_quant(op) || !sizes || !out || sizes->size() <= 3 || attrs.transpose_a ||
      !attrs.transpose_b || !is_constant(op->input(1)) || rank_of(op->input(1)) != 2)
    return false;
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.sized(x, {-1, sizes->back()});
  return p.replace(p.sized(p.op(OpKind::MatMul, std::move(inputs), attrs), *out));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, split_fused, "activations split off"},
    {OpKind::ConvTranspose, split_fused, "activations split off"},
    {OpKind::MatMul, split_fused, "activations split off"},
    {OpKind::Gemm, split_fused, "activations split off"},
    {OpKind::MatMul, raise_vectors, "products of vectors"},
    {OpKind::MatMul, split_alpha, "factors of products"},
    {OpKind::Gemm, split_factors, "factors of products"},
    {OpKind::MatMul, transpose_weights<MatMulAttrs>, "weights of layers"},
    {OpKind::Gemm, transpose_weights<GemmAttrs>, "weights of layers"},
    {OpKind::MatMul, split_bias<MatMulAttrs>, "biases of products"},
    {OpKind::Gemm, split_bias<GemmAttrs>, "biases of products"},
    {OpKind::MatMul, flatten_rows, "layers on rows"},
};

}  // namespace

const std::span<const RewriteRule> kMilLinear = kRules;

}  // namespace ec::passes
