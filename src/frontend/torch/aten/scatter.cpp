// Writing by index, in functional form: the result is the whole tensor with the change in it.
#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/torch/aten/indexing.h"
#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// src with the element type and the shape of x.
Result<ec::Tensor*> fitted(Call& c, ec::Tensor* src, ec::Tensor* x) {
  EC_TRY(ec::Tensor * value, c.cast(src, x->dtype()));
  if (value->shape() && value->type().is_static() && value->shape() == x->shape()) return value;
  EC_TRY(ec::Tensor * shape, c.shape_of(x));
  // PyTorch drops leading dimensions of size 1 that the target lacks.
  while (c.rank(value) > c.rank(x)) {
    EC_TRY(value, c.squeeze(value, {0}));
  }
  return c.expand(value, shape);
}

Result<ec::Tensor*> copy(Call& c) { return fitted(c, c.tensor("src"), c.tensor("self")); }
Result<ec::Tensor*> fill(Call& c) { return fitted(c, c.tensor("value"), c.tensor("self")); }
Result<ec::Tensor*> zero(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return fitted(c, c.scalar(x->dtype(), 0), x);
}

// Rows of x along an axis replaced by those of src.
Result<ec::Tensor*> replace_rows(Call& c, ec::Tensor* x, ec::Tensor* src, int64_t axis,
                                 ec::Tensor* rows, Reduction reduction) {
  const int64_t rank = c.rank(x);
  Ints perm = indexed_first({axis}, rank), back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  EC_TRY(ec::Tensor * data, c.transpose(x, perm));
  EC_TRY(ec::Tensor * updates, c.transpose(src, perm));
  EC_TRY(ec::Tensor * index, c.reshape(rows, Ints{-1, 1}));
  ScatterNdAttrs attrs;
  attrs.reduction = reduction;
  EC_TRY(ec::Tensor * y, c.add(OpKind::ScatterNd, {data, index, updates}, attrs));
  return c.transpose(y, std::move(back));
}

Result<ec::Tensor*> put_slice(Call& c, ec::Tensor* x, ec::Tensor* src, int64_t axis, int64_t begin,
                              int64_t end, int64_t step) {
  const int64_t size = c.size(x, axis);
  const auto clamped = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  begin = clamped(begin);
  end = std::max(clamped(end), begin);
  if (step < 1) return c.fail(Code::BadValue, "steps have to be positive");
  const int64_t count = (end - begin) / step + ((end - begin) % step != 0 ? 1 : 0);
  if (count == 0) return x;
  Ints shape;
  for (int64_t i = 0; i < c.rank(x); ++i) shape.push_back(i == axis ? count : c.size(x, i));
  EC_TRY(src, c.cast(src, x->dtype()));
  EC_TRY(src, c.expand(src, c.int_list(shape)));
  if (count == size) return src;
  if (step != 1) {
    if (count > kMaxIndices) return c.fail(Code::TooLarge, "so many rows");
    Ints rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(begin + i * step);
    return replace_rows(c, x, src, axis, c.int_list(rows), Reduction::None);
  }
  Tensors parts;
  if (begin > 0) {
    EC_TRY(ec::Tensor * head, c.slice(x, axis, 0, begin));
    parts.push_back(head);
  }
  parts.push_back(src);
  if (end < size) {
    EC_TRY(ec::Tensor * tail, c.slice(x, axis, end, size));
    parts.push_back(tail);
  }
  return c.concat(std::move(parts), axis);
}

Result<ec::Tensor*> slice_scatter(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return put_slice(c, x, c.tensor("src"), c.dim("dim", c.rank(x)), c.integer("start", 0),
                   c.integer("end", std::numeric_limits<int64_t>::max()), c.integer("step"));
}

Result<ec::Tensor*> select_scatter(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x)), size = c.size(x, axis);
  int64_t at = c.integer("index");
  if (at < 0) at += size;
  if (at < 0 || at >= size) return c.fail(Code::BadValue, "the index is out of range");
  ec::Tensor* src = c.tensor("src");
  if (c.rank(src) > 0) {
    EC_TRY(src, c.unsqueeze(src, {std::min(axis, c.rank(src))}));
  }
  return put_slice(c, x, src, axis, at, at + 1, 1);
}

// A diagonal is written through the flattened matrix.
Result<ec::Tensor*> diagonal_scatter(Call& c) {
  ec::Tensor* x = c.tensor("self");
  if (c.rank(x) != 2) return c.unsupported("diagonals of more than two dimensions");
  const int64_t rows = c.size(x, 0), columns = c.size(x, 1), offset = c.integer("offset");
  if (std::min(rows, columns) > kMaxIndices) return c.fail(Code::TooLarge, "so long a diagonal");
  const Ints diagonal = diagonal_indices(rows, columns, offset);
  EC_TRY(ec::Tensor * flat, c.reshape(x, Ints{-1}));
  EC_TRY(ec::Tensor * src, c.cast(c.tensor("src"), x->dtype()));
  EC_TRY(src, c.expand(src, c.int_list({static_cast<int64_t>(diagonal.size())})));
  EC_TRY(ec::Tensor * y, replace_rows(c, flat, src, 0, c.int_list(diagonal), Reduction::None));
  return c.reshape(y, Ints{rows, columns});
}

// A mask with one value for all masked elements is a choice between two tensors.
Result<ec::Tensor*> put_masked(Call& c, ec::Tensor* x, ec::Tensor* mask, ec::Tensor* value) {
  Ints axes;
  for (int64_t i = c.rank(mask); i < c.rank(x); ++i) axes.push_back(i);
  EC_TRY(ec::Tensor * condition, c.cast(mask, DType::Bool));
  EC_TRY(condition, c.unsqueeze(condition, axes));
  EC_TRY(ec::Tensor * replacement, c.reshape(value, Ints{}));
  return c.add(OpKind::Where, {condition, replacement, x});
}

Result<ec::Tensor*> index_put(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  const Tensors given = c.tensors("indices");
  const bool accumulate = c.boolean("accumulate");
  EC_TRY(ec::Tensor * values, c.cast(c.tensor("values"), x->dtype()));
  if (!accumulate && given.size() == 1 && given[0] != nullptr && given[0]->dtype() == DType::Bool &&
      values->type().num_elements() == 1)
    return put_masked(c, x, given[0], values);
  EC_TRY(const IndexedDims at, indexed_dims(c, x, given));
  if (at.dims.empty()) return fitted(c, values, x);
  const Ints perm = indexed_first(at.dims, rank);
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  EC_TRY(ec::Tensor * data, c.transpose(x, perm));
  EC_TRY(ec::Tensor * stacked, stacked_indices(c, at.indices));
  // Values have the shape that reading at these indices would give.
  const int64_t joint = joint_rank(c, at.indices);
  const auto indexed = static_cast<int64_t>(at.dims.size());
  const int64_t result = joint + rank - indexed;
  const int64_t lead = at.adjacent ? at.dims.front() : 0;
  if (lead > 0 && c.rank(values) > 0) {
    Ints axes(static_cast<size_t>(std::max<int64_t>(result - c.rank(values), 0)));
    std::iota(axes.begin(), axes.end(), 0);
    EC_TRY(values, c.unsqueeze(values, axes));
    Ints order;
    for (int64_t i = 0; i < joint; ++i) order.push_back(lead + i);
    for (int64_t i = 0; i < lead; ++i) order.push_back(i);
    for (int64_t i = lead + joint; i < result; ++i) order.push_back(i);
    EC_TRY(values, c.transpose(values, std::move(order)));
  }
  EC_TRY(ec::Tensor * stacked_shape, c.shape_of(stacked));
  EC_TRY(ec::Tensor * data_shape, c.shape_of(data));
  EC_TRY(ec::Tensor * head, c.slice(stacked_shape, 0, 0, joint));
  EC_TRY(ec::Tensor * tail, c.slice(data_shape, 0, indexed, rank));
  EC_TRY(ec::Tensor * shape, c.concat({head, tail}, 0));
  EC_TRY(values, c.expand(values, shape));
  ScatterNdAttrs attrs;
  attrs.reduction = accumulate ? Reduction::Add : Reduction::None;
  EC_TRY(ec::Tensor * y, c.add(OpKind::ScatterNd, {data, stacked, values}, attrs));
  return c.transpose(y, std::move(back));
}

Result<Reduction> reduction_of(Call& c, const std::string& name) {
  if (name == "add" || name == "sum") return Reduction::Add;
  if (name == "multiply" || name == "prod") return Reduction::Mul;
  if (name == "amax") return Reduction::Max;
  if (name == "amin") return Reduction::Min;
  return c.unsupported("reduction '" + name + "'");
}

Result<ec::Tensor*> scatter_to(Call& c, ec::Tensor* src, Reduction reduction) {
  ec::Tensor* x = c.tensor("self");
  ec::Tensor* index = c.tensor("index");
  const int64_t rank = c.rank(x);
  EC_TRY(src, c.cast(src, x->dtype()));
  if (c.rank(src) == 0 && rank > 0) {
    EC_TRY(ec::Tensor * shape, c.shape_of(index));
    EC_TRY(src, c.expand(src, shape));
  } else if (src->type().is_static() && index->type().is_static()) {
    for (int64_t i = 0; i < rank; ++i)  // only as much of src as the index reaches
      if (c.size(src, i) > c.size(index, i)) {
        EC_TRY(src, c.slice(src, i, 0, c.size(index, i)));
      }
  }
  ScatterElementsAttrs attrs;
  attrs.axis = c.dim("dim", rank);
  attrs.reduction = reduction;
  return c.add(OpKind::ScatterElements, {x, index, src}, attrs);
}

Result<ec::Tensor*> scatter(Call& c) {
  Reduction reduction = Reduction::None;
  if (c.has("reduce")) {
    EC_TRY(reduction, reduction_of(c, c.text("reduce")));
  }
  return scatter_to(c, c.tensor(c.has_arg("src") ? "src" : "value"), reduction);
}

Result<ec::Tensor*> scatter_add(Call& c) { return scatter_to(c, c.tensor("src"), Reduction::Add); }

Result<ec::Tensor*> scatter_reduce(Call& c) {
  if (!c.boolean("include_self")) return c.unsupported("include_self=False");
  EC_TRY(const Reduction reduction, reduction_of(c, c.text("reduce")));
  return scatter_to(c, c.tensor("src"), reduction);
}

Result<ec::Tensor*> index_add(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * source, c.cast(c.tensor("source"), x->dtype()));
  const double alpha = c.number("alpha");
  if (alpha != 1) {
    EC_TRY(source, c.add(OpKind::Mul, {source, c.scalar(x->dtype(), alpha)}));
  }
  return replace_rows(c, x, source, c.dim("dim", c.rank(x)), c.tensor("index"), Reduction::Add);
}

Result<ec::Tensor*> index_copy(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return replace_rows(c, x, c.tensor("source"), c.dim("dim", c.rank(x)), c.tensor("index"),
                      Reduction::None);
}

Result<ec::Tensor*> index_fill(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  EC_TRY(ec::Tensor * rows, c.reshape(c.tensor("index"), Ints{-1}));
  EC_TRY(ec::Tensor * old, c.gather(x, rows, axis));
  EC_TRY(ec::Tensor * source, fitted(c, c.tensor("value"), old));
  return replace_rows(c, x, source, axis, rows, Reduction::None);
}

// Elements of source in order where the mask is true.
Result<ec::Tensor*> masked_scatter(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * mask, fitted(c, c.tensor("mask"), x));
  EC_TRY(ec::Tensor * flat, c.reshape(mask, Ints{-1}));
  EC_TRY(ec::Tensor * ones, c.cast(flat, DType::I64));
  EC_TRY(ec::Tensor * rank_of,
         c.add(OpKind::CumSum, {ones, c.scalar(DType::I64, 0)}, CumulativeAttrs{}));
  EC_TRY(ec::Tensor * index, c.add(OpKind::Sub, {rank_of, ones}));
  EC_TRY(ec::Tensor * source, c.reshape(c.tensor("source"), Ints{-1}));
  // Places past the source's end are not read by a valid model, but have to exist.
  EC_TRY(ec::Tensor * length, c.shape_of(source));
  EC_TRY(ec::Tensor * last, c.add(OpKind::Sub, {length, c.scalar(DType::I64, 1)}));
  EC_TRY(index, c.add(OpKind::Min, {index, last}));
  EC_TRY(ec::Tensor * values, c.gather(source, index, 0));
  EC_TRY(ec::Tensor * shape, c.shape_of(x));
  EC_TRY(values, c.reshape(values, shape));
  EC_TRY(mask, c.cast(mask, DType::Bool));
  return c.add(OpKind::Where, {mask, values, x});
}

constexpr OperatorRow kRows[] = {
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", copy},
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", fill},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", fill},
    {"aten::zero(Tensor self) -> Tensor", zero},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
     "int step=1) -> Tensor",
     slice_scatter},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor", select_scatter},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor",
     diagonal_scatter},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     index_put},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, "
     "bool accumulate=False) -> Tensor",
     index_put},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", scatter},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
     "Tensor",
     scatter},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, "
     "str reduce) -> Tensor",
     scatter},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_add},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True) -> Tensor",
     scatter_reduce},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
     "Tensor",
     index_add},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", index_copy},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     index_fill},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     index_fill},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", masked_scatter},
};

}  // namespace

const std::span<const OperatorRow> kScatterRows = kRows;

}  // namespace ec::torch
