// Reading by index: slices, selections, index tensors, gathers, tables.
#include "frontend/torch/aten/indexing.h"

#include <algorithm>
#include <limits>

#include "frontend/torch/aten/limits.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// A bound of a slice, which may be computed, as i64[1].
Result<ec::Tensor*> slice_bound(Call& c, std::string_view name, int64_t fallback) {
  return c.sizes(std::vector<TorchValue>{c.has(name) ? c.arg(name) : TorchValue(fallback)});
}

Result<ec::Tensor*> slice(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x)), step = c.integer("step");
  const auto begin = c.has("start") ? known_int(c.arg("start")) : std::optional<int64_t>(0);
  const auto end = c.has("end") ? known_int(c.arg("end")) : std::optional<int64_t>(kEnd);
  if (!x->shape()) return x;  // the error is remembered
  if (begin == 0 && end && step == 1) {
    if (*end == kEnd) return x;
    const auto size = Call::known_size(x, axis);
    if (size && *end >= *size) return x;
  }
  EC_TRY(ec::Tensor * first, slice_bound(c, "start", 0));
  EC_TRY(ec::Tensor * last, slice_bound(c, "end", kEnd));
  return c.add(OpKind::Slice, {x, first, last, c.int_list({axis}), c.int_list({step})});
}

Result<ec::Tensor*> select(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  EC_TRY(const TensorRef index, as_tensor(c.site(), c.arg("index")));
  return c.gather(x, index.tensor, axis);
}

Result<ec::Tensor*> narrow(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  EC_TRY(ec::Tensor * begin, c.sizes(std::vector<TorchValue>{c.arg("start")}));
  EC_TRY(ec::Tensor * length, c.sizes(std::vector<TorchValue>{c.arg("length")}));
  if (const auto known = known_int(c.arg("start")); known && *known < 0) {
    begin = c.int_list({*known + c.size(x, axis)});
  }
  EC_TRY(ec::Tensor * end, c.add(OpKind::Add, {begin, length}));
  return c.add(OpKind::Slice, {x, begin, end, c.int_list({axis}), c.int_list({1})});
}

// Each index varies along a dimension of its own, in order: then each is a gather by itself.
bool is_outer_product(const Tensors& indices) {
  const size_t count = indices.size();
  for (size_t i = 0; i < count; ++i) {
    const auto& shape = indices[i]->shape();
    if (!shape || !shape->is_static() || shape->rank() > count) return false;
    for (size_t k = 0; k < shape->rank(); ++k)
      if (count - shape->rank() + k != i && (*shape)[k].size() != 1) return false;
    if (count - shape->rank() > i) return false;
  }
  return true;
}

Result<ec::Tensor*> index(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  EC_TRY(const IndexedDims at, indexed_dims(c, x, c.tensors("indices")));
  if (at.dims.empty()) return x;
  if (at.dims.size() == 1) return c.gather(x, at.indices[0], at.dims[0]);
  if (at.adjacent && is_outer_product(at.indices)) {
    for (size_t i = 0; i < at.dims.size(); ++i) {
      EC_TRY(ec::Tensor * flat, c.reshape(at.indices[i], Ints{-1}));
      EC_TRY(x, c.gather(x, flat, at.dims[i]));
    }
    return x;
  }
  EC_TRY(ec::Tensor * moved, c.transpose(x, indexed_first(at.dims, rank)));
  EC_TRY(ec::Tensor * stacked, stacked_indices(c, at.indices));
  EC_TRY(ec::Tensor * y, c.add(OpKind::GatherNd, {moved, stacked}, GatherNdAttrs{}));
  if (!at.adjacent || at.dims.front() == 0) return y;
  // The indices' dimensions go where the first indexed one was.
  const int64_t joint = joint_rank(c, at.indices), result = c.rank(y);
  Ints perm;
  for (int64_t i = 0; i < at.dims.front(); ++i) perm.push_back(joint + i);
  for (int64_t i = 0; i < joint; ++i) perm.push_back(i);
  for (int64_t i = joint + at.dims.front(); i < result; ++i) perm.push_back(i);
  return c.transpose(y, std::move(perm));
}

Result<ec::Tensor*> index_select(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * index, c.reshape(c.tensor("index"), Ints{-1}));
  return c.gather(x, index, c.dim("dim", c.rank(x)));
}

Result<ec::Tensor*> gather_elements(Call& c, ec::Tensor* x, ec::Tensor* index, int64_t axis) {
  if (c.rank(x) == 0) return x;
  // PyTorch reads only as far as the index reaches along the other dimensions.
  if (x->type().is_static() && index->type().is_static())
    for (int64_t i = 0; i < c.rank(x); ++i)
      if (i != axis && c.size(index, i) < c.size(x, i)) {
        EC_TRY(x, c.slice(x, i, 0, c.size(index, i)));
      }
  GatherAttrs attrs;
  attrs.axis = axis;
  return c.add(OpKind::GatherElements, {x, index}, attrs);
}

Result<ec::Tensor*> gather(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return gather_elements(c, x, c.tensor("index"), c.dim("dim", c.rank(x)));
}

Result<ec::Tensor*> take_along_dim(Call& c) {
  ec::Tensor* x = c.tensor("self");
  ec::Tensor* index = c.tensor("indices");
  if (!c.has("dim")) {
    EC_TRY(x, c.reshape(x, Ints{-1}));
    EC_TRY(index, c.reshape(index, Ints{-1}));
    return gather_elements(c, x, index, 0);
  }
  const int64_t rank = c.rank(x), axis = c.dim("dim", rank);
  Ints of_x, of_index;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t a = c.size(x, i), b = c.size(index, i), joint = a == 1 ? b : a;
    of_x.push_back(i == axis ? a : joint);
    of_index.push_back(i == axis ? b : joint);
  }
  EC_TRY(x, c.expand(x, c.int_list(of_x)));
  EC_TRY(index, c.expand(index, c.int_list(of_index)));
  return gather_elements(c, x, index, axis);
}

Result<ec::Tensor*> take(Call& c) {
  EC_TRY(ec::Tensor * flat, c.reshape(c.tensor("self"), Ints{-1}));
  return c.gather(flat, c.tensor("index"), 0);
}

Result<ec::Tensor*> nonzero(Call& c) {
  EC_TRY(ec::Tensor * coordinates, c.add(OpKind::NonZero, {c.tensor("self")}));
  return c.transpose(coordinates, {1, 0});
}

Result<ec::Tensor*> masked_select(Call& c) {
  EC_TRY(
      const std::vector<TorchValue> joint,
      c.ops("aten::broadcast_tensors", {TorchValue::list({c.tensor("self"), c.tensor("mask")})}));
  const auto& items = *joint.front().items();
  EC_TRY(ec::Tensor * x, c.reshape(items[0].tensor(), Ints{-1}));
  EC_TRY(ec::Tensor * mask, c.reshape(items[1].tensor(), Ints{-1}));
  CompressAttrs attrs;
  attrs.flatten = false;
  return c.add(OpKind::Compress, {x, mask}, attrs);
}

Result<ec::Tensor*> embedding(Call& c) {
  return c.gather(c.tensor("weight"), c.tensor("indices"), 0);
}

// Sums, means or maxima of rows of a table, one per bag; a bag ends where the next one starts.
Result<std::vector<TorchValue>> embedding_bag(Call& c) {
  if (c.integer("padding_idx", -1) >= 0) return c.unsupported("padding_idx in embedding_bag");
  EC_TRY(ec::Tensor * rows, c.gather(c.tensor("weight"), c.tensor("indices"), 0));
  if (c.has("per_sample_weights")) {
    EC_TRY(ec::Tensor * weights, c.unsqueeze(c.tensor("per_sample_weights"), {1}));
    EC_TRY(rows, c.add(OpKind::Mul, {rows, weights}));
  }
  Ints bounds;
  const TorchValue offsets = c.tensor("offsets");
  for (int64_t i = 0; i < c.size(offsets.tensor(), 0); ++i) {
    EC_TRY(ec::Tensor * offset,
           c.gather(offsets.tensor(), c.scalar(DType::I64, static_cast<double>(i)), 0));
    const auto known = known_int(TorchValue(offset));
    if (!known) return c.fail(Code::DataDependent, "the bags' offsets have to be known");
    bounds.push_back(*known);
  }
  if (!c.boolean("include_last_offset")) bounds.push_back(c.size(rows, 0));
  const int64_t mode = c.integer("mode");
  const OpKind kind = mode == 0   ? OpKind::ReduceSum
                      : mode == 1 ? OpKind::ReduceMean
                                  : OpKind::ReduceMax;
  Tensors bags;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    EC_TRY(ec::Tensor * bag, c.slice(rows, 0, bounds[i], bounds[i + 1]));
    EC_TRY(bag, c.add(kind, {bag, c.int_list({0})}, ReduceAttrs{}));
    bags.push_back(bag);
  }
  if (bags.empty()) return c.fail(Code::BadValue, "there are no bags");
  EC_TRY(ec::Tensor * y, c.concat(std::move(bags), 0));
  return std::vector<TorchValue>{y, TorchValue(), TorchValue(), TorchValue()};
}

Result<ec::Tensor*> one_hot(Call& c) {
  const int64_t classes = c.integer("num_classes");
  if (classes < 1) return c.fail(Code::DataDependent, "num_classes has to be given");
  OneHotAttrs attrs;
  return c.add(
      OpKind::OneHot,
      {c.tensor("self"), c.scalar(DType::I64, static_cast<double>(classes)), c.int_list({0, 1})},
      attrs);
}

// How many of the boundaries are below each value (or not above it).
Result<ec::Tensor*> count_below(Call& c, ec::Tensor* values, ec::Tensor* boundaries, bool right) {
  EC_TRY(ec::Tensor * x, c.unsqueeze(values, {c.rank(values)}));
  if (c.rank(boundaries) > 1) {
    EC_TRY(boundaries, c.unsqueeze(boundaries, {c.rank(boundaries) - 1}));
  }
  EC_TRY(ec::Tensor * below, c.binary(right ? OpKind::GreaterOrEqual : OpKind::Greater,
                                      {x, false, {}, {}}, {boundaries, false, {}, {}}));
  EC_TRY(below, c.cast(below, c.boolean("out_int32") ? DType::I32 : DType::I64));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return c.add(OpKind::ReduceSum, {below, c.int_list({c.rank(below) - 1})}, attrs);
}

Result<ec::Tensor*> bucketize(Call& c) {
  return count_below(c, c.tensor("self"), c.tensor("boundaries"), c.boolean("right"));
}

Result<ec::Tensor*> searchsorted(Call& c) {
  if (c.has("sorter")) return c.unsupported("a sorter");
  return count_below(c, c.tensor("self"), c.tensor("sorted_sequence"),
                     c.boolean("right") || c.text("side") == "right");
}

// The diagonal of two dimensions becomes the last one.
Result<ec::Tensor*> diagonal(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x), offset = c.integer("offset");
  const int64_t a = c.dim("dim1", rank), b = c.dim("dim2", rank);
  if (a == b) return c.fail(Code::BadValue, "a diagonal needs two dimensions");
  const int64_t rows = c.size(x, a), columns = c.size(x, b);
  if (std::min(rows, columns) > kMaxIndices) return c.fail(Code::TooLarge, "so long a diagonal");
  Ints perm, kept;
  for (int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) {
      perm.push_back(i);
      kept.push_back(c.size(x, i));
    }
  perm.push_back(a);
  perm.push_back(b);
  kept.push_back(-1);
  EC_TRY(ec::Tensor * flat, c.transpose(x, std::move(perm)));
  EC_TRY(flat, c.reshape(flat, kept));
  return c.gather(flat, c.int_list(diagonal_indices(rows, columns, offset)), rank - 2);
}

Result<ec::Tensor*> diag_embed(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x), offset = c.integer("offset", 0);
  if (c.has_arg("dim1") && (c.dim("dim1", rank + 1) != rank - 1 || c.dim("dim2", rank + 1) != rank))
    return c.unsupported("diagonals of other than the last two dimensions");
  constexpr int64_t kMost = 4096;
  const int64_t length = c.size(x, rank - 1);
  if (offset < -kMost || offset > kMost || length > kMost - std::abs(offset))
    return c.unsupported("so long a diagonal");
  const int64_t size = length + std::abs(offset);
  // Row i of the pattern is one at i + offset; elements beyond the diagonal are padding.
  std::vector<float> pattern(static_cast<size_t>(size * size), 0.0f);
  for (int64_t i = 0; i < size; ++i)
    if (i + offset >= 0 && i + offset < size)
      pattern[static_cast<size_t>(i * size + i + offset)] = 1.0f;
  EC_TRY(ec::Tensor * ones, c.cast(c.floats(Shape{size, size}, pattern), x->dtype()));
  EC_TRY(x, c.op("aten::constant_pad_nd", {x, TorchValue::ints({0, std::abs(offset)})}));
  EC_TRY(x, c.unsqueeze(x, {offset >= 0 ? rank : rank - 1}));
  return c.add(OpKind::Mul, {x, ones});
}

Result<ec::Tensor*> diag(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return c.op(c.rank(x) == 1 ? "aten::diag_embed" : "aten::diagonal", {x, c.integer("diagonal")});
}

constexpr OperatorRow kRows[] = {
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) "
     "-> Tensor(a)",
     slice},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, "
     "int step=1) -> Tensor",
     slice},
    {"aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)", select},
    {"aten::select_copy.int(Tensor self, int dim, int index) -> Tensor", select},
    {"aten::narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)", narrow},
    {"aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)", narrow},
    {"aten::narrow_copy(Tensor self, int dim, int start, int length) -> Tensor", narrow},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", index_select},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     gather},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", take_along_dim},
    {"aten::take(Tensor self, Tensor index) -> Tensor", take},
    {"aten::nonzero(Tensor self) -> Tensor", nonzero},
    {"aten::argwhere(Tensor self) -> Tensor", nonzero},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", masked_select},
    {"aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, "
     "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     embedding},
    {"aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
     "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
     "Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, "
     "Tensor, Tensor)",
     embedding_bag},
    {"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, "
     "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
     "bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
     embedding_bag},
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
     "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
     "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     embedding_bag},
    {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot},
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, "
     "bool right=False) -> Tensor",
     bucketize},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
     "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     searchsorted},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonal},
    {"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", diag_embed},
    {"aten::diag(Tensor self, int diagonal=0) -> Tensor", diag},
};

}  // namespace

Result<IndexedDims> indexed_dims(Call& c, ec::Tensor* x, const Tensors& given) {
  IndexedDims result;
  int64_t axis = 0;
  const int64_t rank = c.rank(x);
  for (ec::Tensor* index : given) {
    if (index == nullptr) {
      ++axis;
      continue;
    }
    if (index->dtype() != DType::Bool && index->dtype() != DType::U8) {
      EC_TRY(ec::Tensor * wide, c.cast(index, DType::I64));
      result.indices.push_back(wide);
      result.dims.push_back(axis++);
      continue;
    }
    // A mask over several dimensions stands for one list of indices in each.
    EC_TRY(ec::Tensor * mask, c.cast(index, DType::Bool));
    EC_TRY(ec::Tensor * coordinates, c.add(OpKind::NonZero, {mask}));
    const int64_t covered = c.rank(mask);
    for (int64_t i = 0; i < covered; ++i) {
      EC_TRY(ec::Tensor * row,
             c.gather(coordinates, c.scalar(DType::I64, static_cast<double>(i)), 0));
      result.indices.push_back(row);
      result.dims.push_back(axis++);
    }
  }
  if (axis > rank) return c.fail(Code::ShapeMismatch, "more indices than dimensions");
  for (size_t i = 1; i < result.dims.size(); ++i)
    result.adjacent = result.adjacent && result.dims[i] == result.dims[i - 1] + 1;
  return result;
}

Ints diagonal_indices(int64_t rows, int64_t columns, int64_t offset) {
  // Beyond these the diagonal is empty, and sums with them could overflow.
  offset = std::clamp(offset, -rows, columns);
  Ints indices;
  for (int64_t i = std::max<int64_t>(0, -offset); i < rows && i + offset < columns; ++i)
    indices.push_back(i * columns + i + offset);
  return indices;
}

Ints indexed_first(const Ints& dims, int64_t rank) {
  Ints perm = dims;
  for (int64_t i = 0; i < rank; ++i)
    if (std::ranges::find(dims, i) == dims.end()) perm.push_back(i);
  return perm;
}

int64_t joint_rank(Call& c, const Tensors& indices) {
  int64_t rank = 0;
  for (const ec::Tensor* index : indices) rank = std::max(rank, c.rank(index));
  return rank;
}

Result<ec::Tensor*> stacked_indices(Call& c, const Tensors& indices) {
  // Adding zeros of the others' shapes broadcasts without knowing the sizes.
  ec::Tensor* zero = nullptr;
  for (ec::Tensor* index : indices) {
    EC_TRY(ec::Tensor * own, c.add(OpKind::Mul, {index, c.scalar(DType::I64, 0)}));
    if (zero == nullptr) {
      zero = own;
    } else {
      EC_TRY(zero, c.add(OpKind::Add, {zero, own}));
    }
  }
  Tensors parts;
  const int64_t rank = joint_rank(c, indices);
  for (ec::Tensor* index : indices) {
    EC_TRY(ec::Tensor * part, c.add(OpKind::Add, {index, zero}));
    EC_TRY(part, c.unsqueeze(part, {rank}));
    parts.push_back(part);
  }
  return c.concat(std::move(parts), rank);
}

const std::span<const OperatorRow> kIndexingRows = kRows;

}  // namespace ec::torch
