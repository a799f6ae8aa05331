// Layers of several inputs.
#include <algorithm>

#include "frontend/keras/normalization.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

// Keras lets inputs of fewer dimensions grow behind the batch.
Tensors aligned(LayerCall& c) {
  Tensors all = c.inputs();
  int64_t most = 0;
  for (const Tensor* x : all) most = std::max(most, c.rank(x));
  for (Tensor*& x : all) {
    Ints axes;
    for (int64_t i = c.rank(x); i < most; ++i)
      axes.push_back(static_cast<int64_t>(axes.size()) + 1);
    x = c.unsqueeze(x, axes);
  }
  // Integers beside floats become floats.
  const bool real = std::ranges::any_of(all, [](Tensor* t) { return is_float(t->dtype()); });
  for (Tensor*& x : all)
    if (real) x = c.to_float(x);
  return all;
}

// A step counts where it counts in one of the inputs; without a mask of each there is none.
Value with_mask(LayerCall& c, Tensor* y) {
  Tensor* mask = nullptr;
  for (const Value& item : c.arg(0, "inputs").items()) {
    if (!item.is_tensor() || item.mask() == nullptr) return y;
    mask = mask == nullptr ? item.mask() : c.add(OpKind::Or, {mask, item.mask()});
  }
  return Value::tensor(y, mask);
}

template <OpKind kKind>
Value merge(LayerCall& c) {
  const Tensors x = aligned(c);
  Tensor* y = x.front();
  for (size_t i = 1; i < x.size(); ++i) y = c.add(kKind, {y, x[i]});
  return with_mask(c, y);
}

Value subtract(LayerCall& c) {
  const Tensors x = aligned(c);
  if (x.size() != 2) return c.fail(Code::BadArity, "two inputs are needed");
  return with_mask(c, c.minus(x[0], x[1]));
}

Value average(LayerCall& c) {
  const Tensors x = aligned(c);
  Tensor* y = x.front();
  for (size_t i = 1; i < x.size(); ++i) y = c.plus(y, x[i]);
  return with_mask(c, x.size() == 1 ? y : c.over(c.to_float(y), static_cast<double>(x.size())));
}

Value concatenate(LayerCall& c) {
  const Tensors x = c.inputs();
  const int64_t axis = c.axis(c.integer("axis", -1), c.rank(x.front()));
  Tensor* y = c.concat(x, axis);
  // The masks of the inputs, joined; an input without one counts everywhere.
  const auto& items = c.arg(0, "inputs").items();
  if (std::ranges::none_of(items, [](const Value& v) { return v.mask() != nullptr; })) return y;
  if (!std::ranges::all_of(items, &Value::is_tensor))
    return c.unsupported("masked sequences beside what is no tensor");
  Tensors masks;
  for (const Value& item : items) {
    Tensor* own = item.as_tensor();
    Tensor* mask = item.mask();
    const Sizes shape = c.sizes(own);
    if (mask == nullptr)
      mask = c.fill(shape, c.scalar(DType::Bool, 1));
    else if (c.rank(mask) < c.rank(own))
      mask = c.expand(c.unsqueeze(mask, {c.rank(own) - 1}), shape);
    masks.push_back(c.cast(mask, DType::I32));
  }
  Tensor* joined = c.reduce(OpKind::ReduceMax, c.concat(masks, axis), {c.rank(y) - 1}, false);
  return Value::tensor(y, c.cast(joined, DType::Bool));
}

// The axis at the place where a batched product wants it.
Tensor* axis_at(LayerCall& c, Tensor* x, int64_t from, int64_t to) {
  Ints perm;
  for (int64_t i = 0, n = c.rank(x); i < n; ++i)
    if (i != from) perm.push_back(i);
  perm.insert(perm.begin() + std::clamp<int64_t>(to, 0, std::ssize(perm)), from);
  return c.transpose(x, perm);
}

Value dot(LayerCall& c) {
  Tensors x = c.inputs();
  if (x.size() != 2) return c.fail(Code::BadArity, "two inputs are needed");
  Ints axes = c.ints("axes", 2);
  for (size_t i = 0; i < 2; ++i) {
    x[i] = c.to_float(x[i]);
    axes[i] = c.axis(axes[i], c.rank(x[i]));
  }
  if (axes[0] == 0 || axes[1] == 0) return c.unsupported("a product along the batch");
  if (c.flag("normalize", false))
    for (size_t i = 0; i < 2; ++i) x[i] = l2_normalize(c, x[i], {axes[i]}, 1e-12);
  const int64_t rank_a = c.rank(x[0]), rank_b = c.rank(x[1]);
  if (rank_a < 2 || rank_b < 2 || !c.ok())
    return c.fail(Code::ShapeMismatch, "inputs of two or more dimensions are needed");
  // [batch, rows..., k] times [batch, k, columns...], as one product of matrices.
  Tensor* a = axis_at(c, x[0], axes[0], rank_a - 1);
  Tensor* b = axis_at(c, x[1], axes[1], 1);
  if (!c.ok()) return a;
  Sizes rows = c.sizes(a), columns = c.sizes(b), result = {rows.front()};
  for (int64_t i = 1; i + 1 < rank_a; ++i) result.push_back(rows[static_cast<size_t>(i)]);
  for (int64_t i = 2; i < rank_b; ++i) result.push_back(columns[static_cast<size_t>(i)]);
  const bool vector_a = rank_a == 2, vector_b = rank_b == 2;
  Tensor* left = a;
  if (rank_a != 3) left = c.reshape(a, {rows.front(), vector_a ? Size(1) : Size(-1), rows.back()});
  Tensor* right = b;
  if (rank_b != 3)
    right = c.reshape(b, {columns.front(), columns[1], vector_b ? Size(1) : Size(-1)});
  Tensor* y = c.matmul(left, right);
  if (vector_a && vector_b) return c.squeeze(y, {1});
  if (rank_a == 3 && rank_b == 3) return y;
  if (rank_a == 3 && vector_b) return c.squeeze(y, {2});
  if (vector_a && rank_b == 3) return c.squeeze(y, {1});
  return c.reshape(y, result);
}

constexpr LayerRow kRows[] = {
    {"Add", merge<OpKind::Add>, MaskRule::Own},      {"Subtract", subtract, MaskRule::Own},
    {"Multiply", merge<OpKind::Mul>, MaskRule::Own}, {"Maximum", merge<OpKind::Max>, MaskRule::Own},
    {"Minimum", merge<OpKind::Min>, MaskRule::Own},  {"Average", average, MaskRule::Own},
    {"Concatenate", concatenate, MaskRule::Own},     {"Dot", dot},
};

}  // namespace

const std::span<const LayerRow> kMergeRows = kRows;

}  // namespace ec::keras
