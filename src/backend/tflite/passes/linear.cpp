// Matrix products: weights as [out, in], one bias vector, at most five dimensions.
#include "backend/tflite/passes/fused_activation.h"
#include "backend/tflite/passes/rules.h"
#include "passes/permute.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

bool has_linear_form(const Operation* op) {
  return is_constant(op->input(1)) && rank_of(op->input(1)) == 2;
}

// Constant weights as the rows that the results are.
Result<bool> transpose_weights(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  if (!has_linear_form(op) || attrs.transpose_b || has_quant(op)) return false;
  if (rank_of(op->input(0)).value_or(0) < 2) return false;
  EC_TRY(Tensor * weights, add_transposed(r, op->input(1), {1, 0}, {op}));
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = weights;
  Attrs edited = op->attrs();
  edited.edit<MatMulAttrs>().transpose_b = true;
  return p.replace(p.op(OpKind::MatMul, std::move(inputs), std::move(edited)));
}

// A constant matrix with leading dimensions of size 1 is a matrix.
Result<bool> drop_leading_ones(Rewriter& r, Operation* op) {
  const Tensor* b = op->input(1);
  const auto rank_a = rank_of(op->input(0)), rank_b = rank_of(b);
  if (!is_constant(b) || has_quant(op) || !rank_a || *rank_b < 3 || *rank_a < *rank_b) return false;
  const std::vector<int64_t> sizes = b->shape()->sizes();
  for (size_t i = 0; i + 2 < sizes.size(); ++i)
    if (sizes[i] != 1) return false;
  const int64_t matrix[] = {sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
  EC_TRY(Tensor * weights,
         r.add_folded(OpKind::Reshape, {op->input(1), r.ints(matrix)}, ReshapeAttrs{}));
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = weights;
  return p.replace(p.op(OpKind::MatMul, std::move(inputs), op->attrs()));
}

Result<bool> split_alpha(Rewriter& r, Operation* op) {
  const float alpha = op->attrs_as<MatMulAttrs>().alpha;
  if (alpha == 1 || has_quant(op)) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<MatMulAttrs>().alpha = 1;
  std::vector<Tensor*> inputs = op->inputs();
  // alpha (a b) + bias = (alpha a) b + bias
  if (is_constant(inputs[1])) {
    EC_TRY(inputs[1], r.add_folded(OpKind::Mul, {inputs[1], p.number(inputs[1], double{alpha})}));
  } else {
    inputs[0] = p.mul(inputs[0], double{alpha});
  }
  return p.replace(p.op(OpKind::MatMul, std::move(inputs), std::move(plain)));
}

// Only products with constant weights take a bias and an activation along.
Result<bool> split_bias(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  const bool linear =
      has_linear_form(op) && !attrs.transpose_a && rank_of(op->input(0)).value_or(0) >= 2;
  if (linear || has_quant(op)) return false;
  if (op->input(2) == nullptr && attrs.activation == Activation::None) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  const FusedActivation activation = take_activation<MatMulAttrs>(plain);
  Tensor* y = p.op(OpKind::MatMul, {op->input(0), op->input(1)}, std::move(plain));
  if (op->input(2) != nullptr) y = p.add(y, op->input(2));
  return p.replace(activated(p, y, activation));
}

// A constant left matrix with transposed weights on the right is what remains for transpose_a with
// constant weights: the transpose is made explicit.
Result<bool> split_transpose_a(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  const auto rank = rank_of(op->input(0));
  if (!attrs.transpose_a || !has_linear_form(op) || has_quant(op) || !rank || *rank < 2)
    return false;
  Replacement p(r, op);
  Perm perm = identity_perm(*rank);
  std::swap(perm[*rank - 1], perm[*rank - 2]);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.transpose(inputs[0], perm);
  Attrs plain = op->attrs();
  plain.edit<MatMulAttrs>().transpose_a = false;
  return p.replace(p.op(OpKind::MatMul, std::move(inputs), std::move(plain)));
}

// Vectors as matrices with one row (a) or column (b).
Result<bool> raise_vectors(Rewriter& r, Operation* op) {
  const auto a = rank_of(op->input(0)), b = rank_of(op->input(1));
  if (has_quant(op) || !a || !b || !op->output()->shape() || (*a > 1 && *b > 1)) return false;
  Replacement p(r, op);
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  std::vector<Tensor*> inputs = op->inputs();
  Attrs plain = op->attrs();
  if (*a == 1) {
    inputs[0] = p.reshape(inputs[0], Shape{Dim(1), (*inputs[0]->shape())[0]});
    plain.edit<MatMulAttrs>().transpose_a = false;
  }
  if (*b == 1) {
    const Dim size = (*inputs[1]->shape())[0];
    inputs[1] = p.reshape(inputs[1], attrs.transpose_b ? Shape{Dim(1), size} : Shape{size, Dim(1)});
  }
  return p.replace(
      p.reshape(p.op(OpKind::MatMul, std::move(inputs), std::move(plain)), *op->output()->shape()));
}

// More than three dimensions with equal batches: one batch dimension. (The operator takes five at
// most.)
Result<bool> merge_batches(Rewriter& r, Operation* op) {
  const auto a = static_shape(op->input(0)), b = static_shape(op->input(1));
  if (!a || !b || has_quant(op) || (a->size() <= 5 && b->size() <= 5)) return false;
  if (a->size() != b->size() || op->input(2) != nullptr) return false;
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < a->size(); ++i) {
    if ((*a)[i] != (*b)[i]) return false;
    batch *= (*a)[i];
  }
  Replacement p(r, op);
  const auto flat = [&](Tensor* x, const std::vector<int64_t>& sizes) {
    return p.sized(x, {batch, sizes[sizes.size() - 2], sizes[sizes.size() - 1]});
  };
  Tensor* y = p.op(OpKind::MatMul, {flat(op->input(0), *a), flat(op->input(1), *b)}, op->attrs());
  return p.replace(p.reshape(y, *op->output()->shape()));
}

// What canonicalise-linear left: a whole matrix as third operand.
Result<bool> split_gemm(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<GemmAttrs>();
  if (has_quant(op) || !is_float(op->output()->dtype())) return false;
  Replacement p(r, op);
  Tensor* y = p.op(OpKind::MatMul, {op->input(0), op->input(1)},
                   MatMulAttrs{.transpose_a = attrs.transpose_a,
                               .transpose_b = attrs.transpose_b,
                               .alpha = attrs.alpha});
  if (op->input(2) != nullptr && attrs.beta != 0)
    y = p.add(y, attrs.beta == 1 ? op->input(2) : p.mul(op->input(2), double{attrs.beta}));
  return p.replace(activated(p, y, {attrs.activation, attrs.act_alpha, attrs.act_beta}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Gemm, split_gemm, "gemm"},
    {OpKind::MatMul, raise_vectors, "matrix products"},
    {OpKind::MatMul, drop_leading_ones, "matrix products"},
    {OpKind::MatMul, split_alpha, "matrix products"},
    {OpKind::MatMul, split_transpose_a, "matrix products"},
    {OpKind::MatMul, transpose_weights, "matrix products"},
    {OpKind::MatMul, split_bias, "matrix products"},
    {OpKind::MatMul, merge_batches, "matrix products"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteLinear = kRules;

}  // namespace ec::passes
