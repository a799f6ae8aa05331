// Operators that move elements: order of dimensions, joining, cutting, padding, repeating.
#include <algorithm>
#include <numeric>

#include "frontend/known_values.h"
#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/promotion.h"
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

// Two dimensions change places.
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
  for (int64_t& place : perm) {
    if (place >= 0) continue;
    while (std::ranges::find(sources, next) != sources.end()) ++next;
    place = next++;
  }
  return c.transpose(x, std::move(perm));
}

// Empty vectors take no part, whatever the rank of the others.
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

// Parts of one size, the last one perhaps smaller.
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

// As even as can be, the first parts larger.
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
    const int64_t start = ((-shifts[i]) % size + size) % size;
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
  if (size > kMaxPlaces) return c.fail(Code::TooLarge, "too many elements");
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
    if (count < 0 || count > kMaxPlaces - static_cast<int64_t>(index.size()))
      return c.fail(Code::BadValue, "repeats out of range");
    index.insert(index.end(), static_cast<size_t>(count), i);
  }
  return c.gather(x, c.int_list(index), axis);
}

// PyTorch lists the pads of the last dimension first, begin and end together.
Result<ec::Tensor*> padded(Call& c, ec::Tensor* x, const Ints& pads, PadMode mode, double value) {
  const auto rank = static_cast<size_t>(c.rank(x));
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank)
    return c.fail(Code::BadValue, "pads do not fit the dimensions");
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; })) return x;
  Ints both(2 * rank, 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    both[rank - 1 - i] = pads[2 * i];
    both[2 * rank - 1 - i] = pads[2 * i + 1];
  }
  PadAttrs attrs;
  attrs.mode = mode;
  Tensors operands = {x, c.int_list(both)};
  if (mode == PadMode::Constant) operands.push_back(c.scalar(x->dtype(), value));
  return c.add(OpKind::Pad, std::move(operands), attrs);
}

Result<ec::Tensor*> pad(Call& c) {
  const std::string mode = c.text("mode");
  const Ints pads = c.ints("pad");
  const PadMode kind = mode == "constant"    ? PadMode::Constant
                       : mode == "reflect"   ? PadMode::Reflect
                       : mode == "replicate" ? PadMode::Edge
                                             : PadMode::Wrap;
  if (kind == PadMode::Wrap && mode != "circular") return c.unsupported("padding '" + mode + "'");
  return padded(c, c.tensor("self"), pads, kind, c.number("value", 0));
}

Result<ec::Tensor*> constant_pad(Call& c) {
  return padded(c, c.tensor("self"), c.ints("pad"), PadMode::Constant, c.number("value"));
}

template <PadMode kMode>
Result<ec::Tensor*> pad_with(Call& c) {
  return padded(c, c.tensor("self"), c.ints("padding"), kMode, 0);
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
  if (size > 0 && count > kMaxPlaces / size) return c.fail(Code::TooLarge, "too many windows");
  Ints index;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) index.push_back(i * step + k);
  EC_TRY(ec::Tensor * places, c.reshape(c.int_list(index), Ints{count, size}));
  EC_TRY(ec::Tensor * y, c.gather(x, places, axis));
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

#define EC_CAT(name) "aten::" name "(Tensor[] tensors, int dim=0) -> Tensor"

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
    {"aten::pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor", pad},
    {"aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", constant_pad},
    {"aten::reflection_pad1d(Tensor self, int[2] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::reflection_pad2d(Tensor self, int[4] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::reflection_pad3d(Tensor self, int[6] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::replication_pad1d(Tensor self, int[2] padding) -> Tensor", pad_with<PadMode::Edge>},
    {"aten::replication_pad2d(Tensor self, int[4] padding) -> Tensor", pad_with<PadMode::Edge>},
    {"aten::replication_pad3d(Tensor self, int[6] padding) -> Tensor", pad_with<PadMode::Edge>},
    {"aten::tril(Tensor self, int diagonal=0) -> Tensor", triangle<false>},
    {"aten::triu(Tensor self, int diagonal=0) -> Tensor", triangle<true>},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid},
};

}  // namespace

const std::span<const OperatorRow> kMovementRows = kRows;

}  // namespace ec::torch
