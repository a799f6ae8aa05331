// Operators that give the same elements a new shape.
#include <algorithm>

#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// Where one size is open and the rest are known, -1 expresses it without arithmetic.
Result<ec::Tensor*> view_as_sizes(Call& c, ec::Tensor* x, std::vector<TorchValue> sizes) {
  size_t open = 0;
  bool inferred = false;
  for (const TorchValue& size : sizes) {
    const auto known = known_int(size);
    open += known ? 0 : 1;
    inferred = inferred || known == -1;
  }
  if (open == 1 && !inferred)
    for (TorchValue& size : sizes)
      if (!known_int(size)) size = TorchValue(-1);
  EC_TRY(ec::Tensor * shape, c.sizes(sizes));
  return c.reshape(x, shape);
}

Result<ec::Tensor*> view(Call& c) {
  return view_as_sizes(c, c.tensor("self"), c.items(c.schema().args[1].name));
}

Result<ec::Tensor*> view_dtype(Call& c) {
  ec::Tensor* x = c.tensor("self");
  BitCastAttrs attrs;
  attrs.to = c.dtype("dtype", x->dtype());
  return attrs.to == x->dtype() ? Result<ec::Tensor*>(x) : c.add(OpKind::BitCast, {x}, attrs);
}

Result<ec::Tensor*> view_as(Call& c) {
  EC_TRY(ec::Tensor * shape, c.shape_of(c.tensor("other")));
  return c.reshape(c.tensor("self"), shape);
}

// The sizes as values: known ones as integers.
Result<std::vector<TorchValue>> sizes_of(Call& c, ec::Tensor* x) {
  EC_TRY(const std::vector<TorchValue> result, c.ops("aten::size", {x}));
  return *result.front().items();
}

Result<ec::Tensor*> flatten(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  if (rank == 0) return c.reshape(x, Ints{1});
  const auto first = static_cast<size_t>(c.dim("start_dim", rank));
  const auto last = static_cast<size_t>(c.dim("end_dim", rank));
  if (first >= last) return x;
  EC_TRY(std::vector<TorchValue> sizes, sizes_of(c, x));
  int64_t product = 1;
  bool known = true;
  for (size_t i = first; i <= last; ++i) {
    const auto size = known_int(sizes[i]);
    known = known && size;
    product *= size.value_or(1);
  }
  std::vector<TorchValue> shape(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(first));
  shape.emplace_back(known ? product : -1);
  shape.insert(shape.end(), sizes.begin() + static_cast<ptrdiff_t>(last) + 1, sizes.end());
  EC_TRY(ec::Tensor * target, c.sizes(shape));
  return c.reshape(x, target);
}

Result<ec::Tensor*> unflatten(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const auto axis = static_cast<size_t>(c.dim("dim", c.rank(x)));
  EC_TRY(std::vector<TorchValue> shape, sizes_of(c, x));
  if (shape.empty()) return c.fail(Code::ShapeMismatch, "the tensor has no dimensions");
  const std::vector<TorchValue> parts = c.items("sizes");
  shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), parts.begin(), parts.end());
  return view_as_sizes(c, x, std::move(shape));
}

// Only dimensions of size 1 go.
Result<ec::Tensor*> squeeze(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  Ints axes;
  if (rank == 0) return x;
  const bool all = !c.has_arg("dim");
  if (!all && c.items("dim").empty()) return x;
  for (const int64_t axis : c.dims("dim", rank))
    if (c.size(x, axis) == 1) axes.push_back(axis);
  return c.squeeze(x, axes);
}

Result<ec::Tensor*> unsqueeze(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.unsqueeze(x, {c.dim("dim", c.rank(x) + 1)});
}

// -1 keeps the tensor's size; new dimensions come first.
Result<ec::Tensor*> expand(Call& c) {
  ec::Tensor* x = c.tensor("self");
  std::vector<TorchValue> sizes = c.items("size");
  const auto rank = static_cast<size_t>(c.rank(x));
  if (sizes.size() < rank) return c.fail(Code::ShapeMismatch, "fewer sizes than dimensions");
  EC_TRY(const std::vector<TorchValue> own, sizes_of(c, x));
  bool same = sizes.size() == rank;
  const size_t added = sizes.size() - rank;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (known_int(sizes[i]) == -1 && i >= added) sizes[i] = own[i - added];
    same = same && known_int(sizes[i]) && known_int(sizes[i]) == known_int(own[i - added]);
  }
  if (same) return x;
  EC_TRY(ec::Tensor * shape, c.sizes(sizes));
  return c.expand(x, shape);
}

Result<ec::Tensor*> expand_as(Call& c) {
  ec::Tensor* x = c.tensor("self");
  ec::Tensor* other = c.tensor("other");
  if (x->shape() && x->type().is_static() && x->shape() == other->shape()) return x;
  EC_TRY(ec::Tensor * shape, c.shape_of(other));
  return c.expand(x, shape);
}

Result<TorchValue> broadcast_tensors(Call& c) {
  const Tensors tensors = c.tensors("tensors");
  Ints shape;
  for (const ec::Tensor* x : tensors) {
    const int64_t rank = c.rank(x);
    if (static_cast<size_t>(rank) > shape.size())
      shape.insert(shape.begin(), static_cast<size_t>(rank) - shape.size(), 1);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t& size = shape[shape.size() - static_cast<size_t>(rank) + static_cast<size_t>(i)];
      if (const int64_t own = c.size(x, i); own != 1) size = own;
    }
  }
  std::vector<TorchValue> results;
  for (ec::Tensor* x : tensors) {
    EC_TRY(ec::Tensor * y, c.expand(x, c.int_list(shape)));
    results.emplace_back(y);
  }
  return TorchValue::list(std::move(results));
}

// Restrides: right only where it keeps the sizes, as exporters write it after a mean.
Result<ec::Tensor*> as_strided(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const Ints sizes = c.ints("size"), strides = c.ints("stride");
  const int64_t offset = c.integer("storage_offset", 0);
  if (!x->type().is_static()) return c.fail(Code::DynamicShape, "as_strided of open sizes");
  if (offset == 0 && sizes == x->shape()->sizes()) return x;
  if (sizes.size() != strides.size() || sizes.size() > 8)
    return c.fail(Code::BadValue, "sizes and strides do not pair");
  // The elements' indices in the row-major tensor.
  std::vector<int64_t> indices = {offset};
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<int64_t> next;
    if (sizes[i] < 0 || sizes[i] > kMaxIndices / std::max<int64_t>(std::ssize(indices), 1))
      return c.unsupported("so many elements");
    for (const int64_t index : indices)
      for (int64_t k = 0; k < sizes[i]; ++k) {
        int64_t at = 0;
        if (__builtin_mul_overflow(k, strides[i], &at) || __builtin_add_overflow(at, index, &at))
          return c.fail(Code::BadValue, "strides reach beyond the tensor");
        next.push_back(at);
      }
    indices = std::move(next);
  }
  EC_TRY(ec::Tensor * flat, c.reshape(x, Ints{-1}));
  EC_TRY(ec::Tensor * y, c.gather(flat, c.int_list(indices), 0));
  return c.reshape(y, sizes);
}

Result<ec::Tensor*> atleast(Call& c, int64_t wanted) {
  ec::Tensor* x = c.tensor("self");
  Ints axes;
  for (int64_t i = c.rank(x); i < wanted; ++i) axes.push_back(static_cast<int64_t>(axes.size()));
  return c.unsqueeze(x, axes);
}
Result<ec::Tensor*> atleast_1d(Call& c) { return atleast(c, 1); }
Result<ec::Tensor*> atleast_2d(Call& c) { return atleast(c, 2); }

constexpr OperatorRow kRows[] = {
    {"aten::view(Tensor(a) self, int[] size) -> Tensor(a)", view},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", view_dtype},
    {"aten::_unsafe_view(Tensor self, int[] size) -> Tensor", view},
    {"aten::_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)", view},
    {"aten::view_copy(Tensor self, int[] size) -> Tensor", view},
    {"aten::reshape(Tensor(a) self, int[] shape) -> Tensor(a)", view},
    {"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", view_as},
    {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", view_as},
    {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
     flatten},
    {"aten::unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)", unflatten},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", squeeze},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", unsqueeze},
    {"aten::expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)", expand},
    {"aten::expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor", expand},
    {"aten::broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", expand},
    {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", expand_as},
    {"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_tensors},
    {"aten::as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> "
     "Tensor(a)",
     as_strided},
    {"aten::atleast_1d(Tensor self) -> Tensor", atleast_1d},
    {"aten::atleast_2d(Tensor self) -> Tensor", atleast_2d},
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> "
     "Tensor(a)",
     identity},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", identity},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", identity},
    {"aten::detach_copy(Tensor self) -> Tensor", identity},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", identity},
    {"aten::alias_copy(Tensor self) -> Tensor", identity},
    {"aten::lift(Tensor self) -> Tensor", identity},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", identity},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", identity},
    {"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", identity},
    {"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", identity},
    {"aten::cpu(Tensor(a) self) -> Tensor(a)", identity},
    {"prim::data(Tensor(a) a) -> Tensor(a)", identity},
};

}  // namespace

const std::span<const OperatorRow> kShapeRows = kRows;

}  // namespace ec::torch
