// Matrix products.
#include "frontend/torch/aten/linear.h"

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {

Result<ec::Tensor*> linear(Call& c, ec::Tensor* x, ec::Tensor* weight, ec::Tensor* bias) {
  MatMulAttrs attrs;
  if (c.rank(weight) == 1) {  // [in]: one feature out, without its dimension
    EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, {x, weight}, attrs));
    return bias != nullptr ? c.add(OpKind::Add, {y, bias}) : Result<ec::Tensor*>(y);
  }
  attrs.transpose_b = true;
  Tensors operands = {x, weight};
  if (bias != nullptr && c.rank(bias) == 1) {
    operands.push_back(bias);
    return c.add(OpKind::MatMul, std::move(operands), attrs);
  }
  EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, std::move(operands), attrs));
  return bias != nullptr ? c.add(OpKind::Add, {y, bias}) : Result<ec::Tensor*>(y);
}

namespace {

Result<ec::Tensor*> linear_row(Call& c) {
  return linear(c, c.tensor("input"), c.tensor("weight"), c.tensor("bias"));
}

Result<ec::Tensor*> product(Call& c, ec::Tensor* a, ec::Tensor* b) {
  return c.add(OpKind::MatMul, {a, b}, MatMulAttrs{});
}

// The product of the first two arguments.
Result<ec::Tensor*> matmul(Call& c) {
  return product(c, c.tensor(c.schema().args[0].name), c.tensor(c.schema().args[1].name));
}

Result<ec::Tensor*> scaled(Call& c, ec::Tensor* x, double factor) {
  return factor == 1 ? Result<ec::Tensor*>(x)
                     : c.add(OpKind::Mul, {x, c.scalar(x->dtype(), factor)});
}

// beta * self + alpha * a b
Result<ec::Tensor*> add_product(Call& c) {
  ec::Tensor* self = c.tensor("self");
  ec::Tensor* a = c.tensor(c.schema().args[1].name);
  ec::Tensor* b = c.tensor(c.schema().args[2].name);
  MatMulAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  const double beta = c.number("beta");
  if (beta == 0) return c.add(OpKind::MatMul, {a, b}, attrs);
  if (beta == 1 && c.rank(self) == 1 && c.rank(a) == 2 && c.rank(b) == 2)
    return c.add(OpKind::MatMul, {a, b, self}, attrs);
  EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, {a, b}, attrs));
  EC_TRY(ec::Tensor * bias, scaled(c, self, beta));
  return c.add(OpKind::Add, {y, bias});
}

// beta * self + alpha * the sum of all products
Result<ec::Tensor*> addbmm(Call& c) {
  MatMulAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, {c.tensor("batch1"), c.tensor("batch2")}, attrs));
  ReduceAttrs reduce;
  reduce.keep_dims = false;
  EC_TRY(y, c.add(OpKind::ReduceSum, {y, c.int_list({0})}, reduce));
  EC_TRY(ec::Tensor * bias, scaled(c, c.tensor("self"), c.number("beta")));
  return c.add(OpKind::Add, {y, bias});
}

Result<ec::Tensor*> outer(Call& c) {
  EC_TRY(ec::Tensor * column, c.unsqueeze(c.tensor("self"), {1}));
  EC_TRY(ec::Tensor * row, c.unsqueeze(c.tensor("vec2"), {0}));
  return c.binary(OpKind::Mul, {column, false, {}, {}}, {row, false, {}, {}});
}

Result<ec::Tensor*> einsum(Call& c) {
  EinsumAttrs attrs;
  for (const char letter : c.text("equation"))
    if (letter != ' ') attrs.equation += letter;
  return c.add(OpKind::Einsum, c.tensors("tensors"), attrs);
}

// y[..., o] = x1[..., i] w[o, i, j] x2[..., j]
Result<ec::Tensor*> bilinear(Call& c) {
  EinsumAttrs attrs;
  attrs.equation = "...i,oij,...j->...o";
  EC_TRY(
      ec::Tensor * y,
      c.add(OpKind::Einsum, {c.tensor("input1"), c.tensor("weight"), c.tensor("input2")}, attrs));
  return c.has("bias") ? c.add(OpKind::Add, {y, c.tensor("bias")}) : Result<ec::Tensor*>(y);
}

// The three operands get dimensions of 1, are multiplied, and dimensions are summed.
Result<ec::Tensor*> trilinear(Call& c) {
  const char* const names[] = {"i1", "i2", "i3"};
  const char* const expansions[] = {"expand1", "expand2", "expand3"};
  ec::Tensor* y = nullptr;
  for (size_t i = 0; i < 3; ++i) {
    EC_TRY(ec::Tensor * x, c.unsqueeze(c.tensor(names[i]), c.ints(expansions[i])));
    if (y == nullptr) {
      y = x;
    } else {
      EC_TRY(y, c.add(OpKind::Mul, {y, x}));
    }
  }
  const Ints sums = c.ints("sumdim");
  if (sums.empty()) return y;
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return c.add(OpKind::ReduceSum, {y, c.int_list(sums)}, attrs);
}

// Distances between all rows of x1 and x2.
Result<ec::Tensor*> cdist(Call& c) {
  const int64_t rank1 = c.rank(c.tensor("x1")), rank2 = c.rank(c.tensor("x2"));
  EC_TRY(ec::Tensor * a, c.unsqueeze(c.tensor("x1"), {rank1 - 1}));
  EC_TRY(ec::Tensor * b, c.unsqueeze(c.tensor("x2"), {std::max<int64_t>(rank2 - 2, 0)}));
  EC_TRY(ec::Tensor * d, c.add(OpKind::Sub, {a, b}));
  return c.op("aten::linalg_vector_norm", {d, c.number("p"), TorchValue::ints({-1})});
}

Result<ec::Tensor*> tensordot(Call& c) {
  ec::Tensor* a = c.tensor("self");
  ec::Tensor* b = c.tensor("other");
  const int64_t rank_a = c.rank(a), rank_b = c.rank(b);
  const Ints dims_a = c.ints("dims_self"), dims_b = c.ints("dims_other");
  if (dims_a.size() != dims_b.size() || rank_a + rank_b > 26)
    return c.unsupported("dimensions that do not pair");
  std::string left, right(static_cast<size_t>(rank_b), ' '), result;
  for (int64_t i = 0; i < rank_a; ++i) left += static_cast<char>('a' + i);
  std::string summed;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t axis_a = c.axis(dims_a[i], rank_a), axis_b = c.axis(dims_b[i], rank_b);
    if (axis_a >= rank_a || axis_b >= rank_b)  // of a scalar
      return c.fail(Code::ShapeMismatch, "scalars have no dimensions to sum over");
    const char letter = left[static_cast<size_t>(axis_a)];
    right[static_cast<size_t>(axis_b)] = letter;
    summed += letter;
  }
  for (const char letter : left)
    if (summed.find(letter) == std::string::npos) result += letter;
  char next = static_cast<char>('a' + rank_a);
  for (char& letter : right)
    if (letter == ' ') result += letter = next++;
  EinsumAttrs attrs;
  attrs.equation = left + "," + right + "->" + result;
  return c.add(OpKind::Einsum, {a, b}, attrs);
}

constexpr OperatorRow kRows[] = {
    {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear_row},
    {"aten::matmul(Tensor self, Tensor other) -> Tensor", matmul},
    {"aten::__matmul__(Tensor self, Tensor other) -> Tensor", matmul},
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", matmul},
    {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", matmul},
    {"aten::mv(Tensor self, Tensor vec) -> Tensor", matmul},
    {"aten::dot(Tensor self, Tensor tensor) -> Tensor", matmul},
    {"aten::vdot(Tensor self, Tensor other) -> Tensor", matmul},
    {"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     add_product},
    {"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     add_product},
    {"aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     add_product},
    {"aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     addbmm},
    {"aten::outer(Tensor self, Tensor vec2) -> Tensor", outer},
    {"aten::ger(Tensor self, Tensor vec2) -> Tensor", outer},
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", einsum},
    {"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
     bilinear},
    {"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, "
     "int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     trilinear},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", cdist},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", cdist},
    {"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
     tensordot},
};

}  // namespace

const std::span<const OperatorRow> kLinearRows = kRows;

}  // namespace ec::torch
