// Operators that move elements: order of dimensions, rotation, repetition, windows.
#include <algorithm>
#include <numeric>

#include "frontend/known_values.h"
#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> permute(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  Ints perm;
  for (const int64_t dim : c.ints("dims")) perm.push_back(c.axis(dim, rank));
  return c.transpose(x, std::move(perm));
}

// Two dimensions are swapped.
Result<ec::Tensor*> transpose(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  return c.swap_axes(x, c.dim(c.schema().args[1].name, rank), c.dim(c.schema().args[2].name, rank));
}

// The last two; vectors stay.
Result<ec::Tensor*> transpose_matrix(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  return rank < 2 ? Result<ec::Tensor*>(x) : c.swap_axes(x, rank - 2, rank - 1);
}

Result<ec::Tensor*> reverse_dims(Call& c) {
  ec::Tensor* x = c.tensor("self");
  Ints perm(static_cast<size_t>(c.rank(x)));
  std::iota(perm.rbegin(), perm.rend(), 0);
  return c.transpose(x, std::move(perm));
}

Result<ec::Tensor*> movedim(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  if (rank == 0) return x;
  Ints sources, targets;
  for (const int64_t dim : c.ints("source")) sources.push_back(c.axis(dim, rank));
  for (const int64_t dim : c.ints("destination")) targets.push_back(c.axis(dim, rank));
  if (sources.size() != targets.size())
    return c.fail(Code::BadValue, "source and destination do not pair");
  Ints perm(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < sources.size(); ++i) perm[static_cast<size_t>(targets[i])] = sources[i];
  int64_t next = 0;
  for (int64_t& dim : perm) {
    if (dim >= 0) continue;
    while (std::ranges::find(sources, next) != sources.end()) ++next;
    dim = next++;
  }
  return c.transpose(x, std::move(perm));
}

Result<ec::Tensor*> roll(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const Ints shifts = c.ints("shifts");
  Ints dims = c.ints("dims");
  Ints shape;
  if (dims.empty()) {  // as one row
    if (shifts.size() != 1) return c.fail(Code::BadValue, "one shift is needed");
    for (int64_t i = 0; i < c.rank(x); ++i) shape.push_back(c.size(x, i));
    EC_TRY(x, c.reshape(x, Ints{-1}));
    dims = {0};
  }
  if (dims.size() != shifts.size()) return c.fail(Code::BadValue, "shifts and dims do not pair");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t axis = c.axis(dims[i], c.rank(x)), size = c.size(x, axis);
    if (size == 0) continue;
    const int64_t start = (size - shifts[i] % size) % size;
    if (start == 0) continue;
    EC_TRY(ec::Tensor * tail, c.slice(x, axis, start, size));
    EC_TRY(ec::Tensor * head, c.slice(x, axis, 0, start));
    EC_TRY(x, c.concat({tail, head}, axis));
  }
  return shape.empty() ? Result<ec::Tensor*>(x) : c.reshape(x, shape);
}

Result<ec::Tensor*> flipped(Call& c, ec::Tensor* x, Ints axes) {
  if (axes.empty()) return x;
  ReverseAttrs attrs;
  attrs.axes = std::move(axes);
  return c.add(OpKind::Reverse, {x}, attrs);
}

Result<ec::Tensor*> flip(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.items("dims").empty() ? Result<ec::Tensor*>(x)
                                 : flipped(c, x, c.dims("dims", c.rank(x)));
}
Result<ec::Tensor*> fliplr(Call& c) { return flipped(c, c.tensor("self"), {1}); }
Result<ec::Tensor*> flipud(Call& c) { return flipped(c, c.tensor("self"), {0}); }

Result<ec::Tensor*> rot90(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  const Ints dims = c.ints("dims", 2);
  const int64_t a = c.axis(dims[0], rank), b = c.axis(dims[1], rank);
  const int64_t k = ((c.integer("k") % 4) + 4) % 4;
  if (k == 0) return x;
  if (k == 2) return flipped(c, x, {a, b});
  if (k == 1) {
    EC_TRY(x, flipped(c, x, {b}));
    return c.swap_axes(x, a, b);
  }
  EC_TRY(x, c.swap_axes(x, a, b));
  return flipped(c, x, {b});
}

// Repeats for every dimension; new ones come first.
Result<ec::Tensor*> repeat(Call& c) {
  ec::Tensor* x = c.tensor("self");
  std::vector<TorchValue> repeats = c.items(c.schema().args[1].name);
  const auto rank = static_cast<size_t>(c.rank(x));
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), TorchValue(1));
  Ints axes(repeats.size() - rank);
  std::iota(axes.begin(), axes.end(), 0);
  EC_TRY(x, c.unsqueeze(x, axes));
  if (std::ranges::all_of(repeats, [](const TorchValue& r) { return known_int(r) == 1; })) return x;
  EC_TRY(ec::Tensor * counts, c.sizes(repeats));
  return c.add(OpKind::Tile, {x, counts});
}

Result<ec::Tensor*> repeat_interleave(Call& c) {
  ec::Tensor* x = c.tensor("self");
  if (!c.has("dim")) {
    EC_TRY(x, c.reshape(x, Ints{-1}));
  }
  const int64_t axis = c.has("dim") ? c.dim("dim", c.rank(x)) : 0;
  const int64_t size = c.size(x, axis);
  if (size > kMaxIndices) return c.fail(Code::TooLarge, "too many elements");
  const TorchValue& repeats = c.arg("repeats");
  Ints counts;
  if (const auto single = known_int(repeats)) {
    counts.assign(static_cast<size_t>(size), *single);
  } else {
    const auto known = repeats.is_tensor() ? known_ints(repeats.tensor()) : std::nullopt;
    if (!known || known->size() != static_cast<size_t>(size))
      return c.fail(Code::DataDependent, "argument 'repeats' has to be known");
    counts = *known;
  }
  Ints index;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t count = counts[static_cast<size_t>(i)];
    if (count < 0 || count > kMaxIndices - static_cast<int64_t>(index.size()))
      return c.fail(Code::BadValue, "repeats out of range");
    index.insert(index.end(), static_cast<size_t>(count), i);
  }
  return c.gather(x, c.int_list(index), axis);
}

template <bool kUpper>
Result<ec::Tensor*> triangle(Call& c) {
  ec::Tensor* x = c.tensor("self");
  TriluAttrs attrs;
  attrs.upper = kUpper;
  return c.add(OpKind::Trilu, {x, c.scalar(DType::I64, static_cast<double>(c.integer("diagonal")))},
               attrs);
}

// Windows of `size` every `step` along a dimension; the window is the last dimension.
Result<ec::Tensor*> unfold(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x), axis = c.dim("dimension", rank);
  const int64_t size = c.integer("size"), step = c.integer("step");
  const int64_t length = c.size(x, axis);
  if (size < 0 || step < 1 || size > length) return c.fail(Code::BadValue, "windows do not fit");
  const int64_t count = (length - size) / step + 1;
  if (size > 0 && count > kMaxIndices / size) return c.fail(Code::TooLarge, "too many windows");
  Ints index;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) index.push_back(i * step + k);
  EC_TRY(ec::Tensor * indices, c.reshape(c.int_list(index), Ints{count, size}));
  EC_TRY(ec::Tensor * y, c.gather(x, indices, axis));
  Ints perm;
  for (int64_t i = 0; i <= rank; ++i)
    if (i != axis + 1) perm.push_back(i);
  perm.push_back(axis + 1);
  return c.transpose(y, std::move(perm));
}

Result<TorchValue> meshgrid(Call& c) {
  const Tensors inputs = c.tensors("tensors");
  const bool xy = c.has_arg("indexing") && c.text("indexing") == "xy" && inputs.size() >= 2;
  const size_t count = inputs.size();
  Ints shape;
  for (const ec::Tensor* x : inputs) shape.push_back(c.rank(x) == 0 ? 1 : c.size(x, 0));
  Ints full = shape;
  if (xy) std::swap(full[0], full[1]);
  std::vector<TorchValue> results;
  for (size_t i = 0; i < count; ++i) {
    Ints own(count, 1);
    own[xy && i < 2 ? 1 - i : i] = shape[i];
    EC_TRY(ec::Tensor * y, c.reshape(inputs[i], own));
    EC_TRY(y, c.expand(y, c.int_list(full)));
    results.emplace_back(y);
  }
  return TorchValue::list(std::move(results));
}

constexpr OperatorRow kRows[] = {
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", permute},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", transpose},
    {"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", transpose},
    {"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose},
    {"aten::t(Tensor(a) self) -> Tensor(a)", transpose_matrix},
    {"aten::t_copy(Tensor self) -> Tensor", transpose_matrix},
    {"aten::mT(Tensor(a) self) -> Tensor(a)", transpose_matrix},
    {"aten::adjoint(Tensor(a) self) -> Tensor(a)", transpose_matrix},
    {"aten::numpy_T(Tensor(a) self) -> Tensor(a)", reverse_dims},
    {"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim},
    {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     movedim},
    {"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim},
    {"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     movedim},
    {"aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", roll},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", flip},
    {"aten::fliplr(Tensor self) -> Tensor", fliplr},
    {"aten::flipud(Tensor self) -> Tensor", flipud},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90},
    {"aten::repeat(Tensor self, int[] repeats) -> Tensor", repeat},
    {"aten::tile(Tensor self, int[] dims) -> Tensor", repeat},
    {"aten::repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, "
     "int? output_size=None) -> Tensor",
     repeat_interleave},
    {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
     "int? output_size=None) -> Tensor",
     repeat_interleave},
    {"aten::tril(Tensor self, int diagonal=0) -> Tensor", triangle<false>},
    {"aten::triu(Tensor self, int diagonal=0) -> Tensor", triangle<true>},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid},
};

}  // namespace

const std::span<const OperatorRow> kMovementRows = kRows;

}  // namespace ec::torch
