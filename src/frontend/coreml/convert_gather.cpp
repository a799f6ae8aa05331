// Elements by index, and changes at indices.
#include "frontend/coreml/table.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

Ints sequence(int64_t from, int64_t to) {
  Ints all;
  for (int64_t i = from; i < to; ++i) all.push_back(i);
  return all;
}
void append(Ints& list, const Ints& more) { list.insert(list.end(), more.begin(), more.end()); }

// The first dimensions of x and indices go together; the result is
// x[:axis] + indices[batch:] + x[axis + 1:].
Tensor* gather_batched(OpCall& c, Tensor* x, Tensor* indices, int64_t axis, int64_t batch) {
  const int64_t dims = c.rank(x), places = c.rank(indices);
  if (batch > axis || batch > places || batch < 0)
    return c.fail(Code::BadValue, "'batch_dims' does not fit the operands");
  Ints perm = sequence(0, batch);
  perm.push_back(axis);
  append(perm, sequence(batch, axis));
  append(perm, sequence(axis + 1, dims));
  GatherNdAttrs attrs;
  attrs.batch_dims = batch;
  Tensor* y =
      c.add(OpKind::GatherNd, {c.transpose(x, perm), c.unsqueeze(indices, {places})}, attrs);
  // [batch, indices, x before the axis, x behind it]
  const int64_t added = places - batch, moved = axis - batch, all = places + dims - 1 - batch;
  Ints back = sequence(0, batch);
  append(back, sequence(batch + added, batch + added + moved));
  append(back, sequence(batch, batch + added));
  append(back, sequence(batch + added + moved, all));
  return c.transpose(y, back);
}

Tensors gather(OpCall& c) {
  Tensor *x = c.in("x"), *indices = c.cast(c.in("indices"), DType::I32);
  const int64_t axis = c.axis_of(x, "axis", 0), batch = c.integer("batch_dims", 0);
  if (batch != 0) return {gather_batched(c, x, indices, axis, batch)};
  return {c.gather(x, indices, axis)};
}

Tensors gather_along_axis(OpCall& c) {
  Tensor* x = c.in("x");
  GatherAttrs attrs;
  attrs.axis = c.axis_of(x, "axis", 0);
  return {c.add(OpKind::GatherElements, {x, c.cast(c.in("indices"), DType::I32)}, attrs)};
}

Tensors gather_nd(OpCall& c) {
  GatherNdAttrs attrs;
  attrs.batch_dims = c.integer("batch_dims", 0);
  return {c.add(OpKind::GatherNd, {c.in("x"), c.cast(c.in("indices"), DType::I64)}, attrs)};
}

struct Change {
  Reduction reduction = Reduction::Add;
  Tensor* updates = nullptr;
};

// How updates change what is there. Differences and quotients are sums and products of others.
Change read_change(OpCall& c) {
  Change change;
  change.updates = c.in("updates");
  const std::string mode = c.text("mode", "add");
  if (mode == "update")
    change.reduction = Reduction::None;
  else if (mode == "mul")
    change.reduction = Reduction::Mul;
  else if (mode == "max")
    change.reduction = Reduction::Max;
  else if (mode == "min")
    change.reduction = Reduction::Min;
  else if (mode == "sub")
    change.updates = c.add(OpKind::Neg, {change.updates});
  else if (mode == "div" && is_float(change.updates->dtype())) {
    change.reduction = Reduction::Mul;
    change.updates = c.add(OpKind::Reciprocal, {change.updates});
  } else if (mode != "add")
    c.unsupported("updates of the mode '" + printable(mode, 40) + "'");
  return change;
}

// Whole slices along an axis: the axis goes to the front, and the places with it.
Tensors scatter(OpCall& c) {
  Tensor *data = c.in("data"), *indices = c.cast(c.in("indices"), DType::I64);
  const Change change = read_change(c);
  const int64_t axis = c.axis_of(data, "axis", 0), dims = c.rank(data), places = c.rank(indices);
  if (!c.ok() || c.rank(change.updates) != dims - 1 + places)
    return {c.fail(Code::ShapeMismatch, "the updates do not fit data and indices")};
  Ints perm = {axis}, back = sequence(1, axis + 1), update_perm = sequence(axis, axis + places);
  append(perm, sequence(0, axis));
  append(perm, sequence(axis + 1, dims));
  back.push_back(0);
  append(back, sequence(axis + 1, dims));
  append(update_perm, sequence(0, axis));
  append(update_perm, sequence(axis + places, dims - 1 + places));
  ScatterNdAttrs attrs;
  attrs.reduction = change.reduction;
  Tensor* y = c.add(OpKind::ScatterNd,
                    {c.transpose(data, perm), c.unsqueeze(indices, {places}),
                     c.transpose(change.updates, update_perm)},
                    attrs);
  return {c.transpose(y, back)};
}

Tensors scatter_along_axis(OpCall& c) {
  Tensor* data = c.in("data");
  const Change change = read_change(c);
  ScatterElementsAttrs attrs;
  attrs.axis = c.axis_of(data, "axis", 0);
  attrs.reduction = change.reduction;
  return {c.add(OpKind::ScatterElements,
                {data, c.cast(c.in("indices"), DType::I64), change.updates}, attrs)};
}

Tensors scatter_nd(OpCall& c) {
  const Change change = read_change(c);
  ScatterNdAttrs attrs;
  attrs.reduction = change.reduction;
  return {c.add(OpKind::ScatterNd,
                {c.in("data"), c.cast(c.in("indices"), DType::I64), change.updates}, attrs)};
}

constexpr OpRow kRows[] = {
    {"gather", kIos15, "x indices axis? batch_dims? validate_indices?", gather},
    {"gather_along_axis", kIos15, "x indices axis? validate_indices?", gather_along_axis},
    {"gather_nd", kIos15, "x indices batch_dims? validate_indices?", gather_nd},
    {"scatter", kIos15, "data indices updates axis? mode? validate_indices?", scatter},
    {"scatter_along_axis", kIos15, "data indices updates axis? mode? validate_indices?",
     scatter_along_axis},
    {"scatter_nd", kIos15, "data indices updates mode? validate_indices?", scatter_nd},
};

}  // namespace

const std::span<const OpRow> kGatherRows = kRows;

}  // namespace ec::mil
