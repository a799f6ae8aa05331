// Joining and splitting tensors.
#include <algorithm>

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// Empty vectors are left out, whatever the rank of the others.
Result<ec::Tensor*> join(Call& c, const std::vector<TorchValue>& items, int64_t dim) {
  std::vector<TensorRef> refs;
  for (const TorchValue& item : items) {
    EC_TRY(const TensorRef ref, as_tensor(c.site(), item));
    if (items.size() > 1 && ref.tensor->shape() && *ref.tensor->shape() == Shape{0}) continue;
    refs.push_back(ref);
  }
  if (refs.empty()) return c.fail(Code::BadArity, "there is nothing to join");
  const DType dtype = result_type(refs);
  Tensors parts;
  for (const TensorRef& ref : refs) {
    EC_TRY(ec::Tensor * part, c.cast(ref.tensor, dtype));
    parts.push_back(part);
  }
  const int64_t axis = c.axis(dim, c.rank(parts.front()));
  return c.concat(std::move(parts), axis);
}

Result<ec::Tensor*> cat(Call& c) { return join(c, c.items("tensors"), c.integer("dim")); }

Result<ec::Tensor*> stack(Call& c) {
  std::vector<TorchValue> parts;
  int64_t axis = 0;
  for (ec::Tensor* x : c.tensors("tensors")) {
    axis = c.dim("dim", c.rank(x) + 1);
    EC_TRY(ec::Tensor * part, c.unsqueeze(x, {axis}));
    parts.emplace_back(part);
  }
  return join(c, parts, axis);
}

Result<ec::Tensor*> hstack(Call& c) {
  const std::vector<TorchValue> items = c.items("tensors");
  const bool vectors =
      !items.empty() && items.front().is_tensor() && c.rank(items.front().tensor()) < 2;
  return join(c, items, vectors ? 0 : 1);
}

Result<ec::Tensor*> vstack(Call& c) {
  std::vector<TorchValue> parts;
  for (ec::Tensor* x : c.tensors("tensors")) {
    EC_TRY(ec::Tensor * part, c.op("aten::atleast_2d", {x}));
    parts.emplace_back(part);
  }
  return join(c, parts, 0);
}

Result<TorchValue> cut(Call& c, ec::Tensor* x, int64_t axis, const Ints& sizes) {
  if (sizes.empty() || sizes.size() > 65536)
    return c.fail(Code::BadValue, "a cut into " + std::to_string(sizes.size()) + " parts");
  if (sizes.size() == 1 && x->type().is_static() && c.size(x, axis) == sizes[0])
    return TorchValue::list({x});
  AxisAttrs attrs;
  attrs.axis = axis;
  EC_TRY(const Tensors parts,
         c.add_many(OpKind::Split, {x, c.int_list(sizes)}, attrs, sizes.size()));
  return TorchValue::list(std::vector<TorchValue>(parts.begin(), parts.end()));
}

// Chunks of one size, the last one perhaps smaller.
Result<TorchValue> cut_evenly(Call& c, ec::Tensor* x, int64_t axis, int64_t part) {
  const int64_t size = c.size(x, axis);
  if (part < 1 && size > 0) return c.fail(Code::BadValue, "parts have to be positive");
  Ints sizes;
  for (int64_t at = 0; at < size && sizes.size() <= 65536; at += part)
    sizes.push_back(std::min(part, size - at));
  if (size == 0) sizes.push_back(0);
  return cut(c, x, axis, sizes);
}

Result<TorchValue> split(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return cut_evenly(c, x, c.dim("dim", c.rank(x)), c.integer("split_size"));
}

Result<TorchValue> split_with_sizes(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return cut(c, x, c.dim("dim", c.rank(x)), c.ints(c.schema().args[1].name));
}

Result<TorchValue> chunk(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  const int64_t chunks = std::max<int64_t>(c.integer("chunks"), 1);
  return cut_evenly(c, x, axis, std::max<int64_t>((c.size(x, axis) + chunks - 1) / chunks, 1));
}

// Chunks as even as can be, the first ones larger.
Result<TorchValue> tensor_split(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x)), size = c.size(x, axis);
  Ints sizes;
  if (c.has_arg("sections")) {
    const int64_t sections = c.integer("sections");
    if (sections < 1 || sections > 65536) return c.fail(Code::BadValue, "sections out of range");
    for (int64_t i = 0; i < sections; ++i)
      sizes.push_back(size / sections + (i < size % sections ? 1 : 0));
  } else {
    int64_t at = 0;
    for (const int64_t index : c.ints("indices")) {
      const int64_t end = std::clamp<int64_t>(index < 0 ? index + size : index, at, size);
      sizes.push_back(end - at);
      at = end;
    }
    sizes.push_back(size - at);
  }
  return cut(c, x, axis, sizes);
}

Result<TorchValue> unbind(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  const int64_t size = c.size(x, axis);
  EC_TRY(const TorchValue parts, cut_evenly(c, x, axis, 1));
  std::vector<TorchValue> results;
  if (size > 0)
    for (const TorchValue& part : *parts.items()) {
      EC_TRY(ec::Tensor * result, c.squeeze(part.tensor(), {axis}));
      results.emplace_back(result);
    }
  return TorchValue::list(std::move(results));
}

#define EC_CAT(name) "aten::" name "(Tensor[] tensors, int dim=0) -> Tensor"

constexpr OperatorRow kRows[] = {
    {EC_CAT("cat"), cat},
    {EC_CAT("concat"), cat},
    {EC_CAT("concatenate"), cat},
    {EC_CAT("stack"), stack},
    {"aten::hstack(Tensor[] tensors) -> Tensor", hstack},
    {"aten::vstack(Tensor[] tensors) -> Tensor", vstack},
    {"aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]", split},
    {"aten::split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
     split_with_sizes},
    {"aten::split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
     split_with_sizes},
    {"aten::split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
     split_with_sizes},
    {"aten::split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", split},
    {"aten::unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", split},
    {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunk},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk},
    {"aten::tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]",
     tensor_split},
    {"aten::tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
     tensor_split},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", unbind},
};

}  // namespace

const std::span<const OperatorRow> kJoiningRows = kRows;

}  // namespace ec::torch
