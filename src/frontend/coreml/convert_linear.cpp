// Linear layers, products of matrices and attention.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

Tensors linear(OpCall& c) {
  Tensor* x = c.in("x");
  MatMulAttrs attrs;
  attrs.transpose_b = true;
  Tensors inputs = {x, c.like_type("weight", x)};
  if (Tensor* bias = c.like_type("bias", x)) inputs.push_back(bias);
  return {c.add(OpKind::MatMul, std::move(inputs), attrs)};
}

Tensors matmul(OpCall& c) {
  Tensor *x = c.in("x"), *y = c.in("y");
  if (x->dtype() != y->dtype()) {
    const DType result = c.declared_dtype();
    x = c.cast(x, result);
    y = c.cast(y, result);
  }
  MatMulAttrs attrs;
  attrs.transpose_a = c.flag("transpose_x", false) && c.rank(x) > 1;
  attrs.transpose_b = c.flag("transpose_y", false) && c.rank(y) > 1;
  return {c.add(OpKind::MatMul, {x, y}, attrs)};
}

Tensors einsum(OpCall& c) {
  EinsumAttrs attrs;
  for (const char letter : c.text("equation", ""))
    if (letter != ' ') attrs.equation += letter;
  return {c.add(OpKind::Einsum, c.list("values"), attrs)};
}

// Dimensions in front of the last two become one of heads, with one for the batch before it.
Tensor* four_dims(OpCall& c, Tensor* x) {
  const int64_t dims = c.rank(x);
  if (dims < 3) return c.fail(Code::ShapeMismatch, "attention needs three dimensions or more");
  if (dims == 4) return x;
  if (dims == 3) return c.unsqueeze(x, {1});
  return c.reshape(x, {Size(x, 0), -1, Size(x, dims - 2), Size(x, dims - 1)});
}

// A mask is [..., queries, keys]; in front of that it may have fewer dimensions, or ones.
Tensor* four_dims_of_mask(OpCall& c, Tensor* mask, int64_t dims) {
  const int64_t have = c.rank(mask);
  if (dims == 4) return mask;
  if (dims == 3) return have == 3 ? c.unsqueeze(mask, {1}) : mask;
  if (have <= 2) return mask;
  c.unsupported("a mask of " + std::to_string(have) + " dimensions");
  return mask;
}

Tensors attention(OpCall& c) {
  Tensor* query = c.in("query");
  const int64_t dims = c.rank(query);
  Tensors inputs = {four_dims(c, query), four_dims(c, c.in("key")), four_dims(c, c.in("value"))};
  if (Tensor* mask = c.maybe("attn_mask")) {
    if (mask->dtype() != DType::Bool) mask = c.cast(mask, query->dtype());
    inputs.push_back(four_dims_of_mask(c, mask, dims));
  }
  Tensor* y = c.add(OpKind::Attention, std::move(inputs), AttentionAttrs{});
  if (dims == 4) return {y};
  if (dims == 3) return {c.squeeze(y, {1})};
  Sizes sizes;
  for (int64_t i = 0; i + 1 < dims; ++i) sizes.emplace_back(query, i);
  sizes.emplace_back(y, 3);
  return {c.reshape(y, sizes)};
}

constexpr OpRow kRows[] = {
    {"linear", kIos15, "x weight bias?", linear},
    {"matmul", kIos15, "x y transpose_x? transpose_y?", matmul},
    {"einsum", kIos15, "values equation", einsum},
    {"scaled_dot_product_attention", kIos18, "query key value attn_mask?", attention},
};

}  // namespace

const std::span<const OpRow> kLinearRows = kRows;

}  // namespace ec::mil
