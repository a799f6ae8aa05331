// keras.ops: shapes, indices, joining and splitting.
#include <algorithm>
#include <numeric>

#include "frontend/keras/operands.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

Value get_item(LayerCall& c) { return subscript(c, c.x(), c.arg(1, "key")); }

// A shape whose sizes are numbers, -1 or tensors.
Tensor* reshape_to(LayerCall& c, Tensor* x, const Value& shape) {
  Sizes sizes;
  Tensors parts;
  collect_tensors(shape, parts);
  if (!parts.empty()) return c.unsupported("a shape that is computed");
  int64_t known = 1;
  bool open = false;
  for (const int64_t n : c.ints_of(shape, "newshape")) {
    sizes.emplace_back(n);
    open |= n == -1;
    if (n > 0 && __builtin_mul_overflow(known, n, &known))
      return c.fail(Code::TooLarge, "the shape is out of range");
  }
  // None stands for a size that is open when the model is made: the batch.
  size_t at = 0;
  if (shape.is_list())
    for (const Value& item : shape.items()) {
      if (item.is_none() && at < sizes.size()) return c.unsupported("a shape with open sizes");
      ++at;
    }
  // -1 in front of fixed sizes stands for the batch, which then stays as it is named.
  if (open && !sizes.empty() && sizes.front().value == -1 && c.rank(x) > 0 && !c.is_static(x, 0)) {
    int64_t rest = 1;
    bool fixed = true;
    for (int64_t i = 1; i < c.rank(x); ++i) {
      fixed &= c.is_static(x, i);
      if (fixed && __builtin_mul_overflow(rest, c.size(x, i), &rest)) fixed = false;
    }
    if (fixed && rest == known) sizes.front() = Size(x, 0);
  }
  return c.reshape(x, sizes);
}
Value reshape(LayerCall& c) { return reshape_to(c, c.x(), c.config("newshape")); }
Value ravel(LayerCall& c) { return c.reshape(c.x(), {-1}); }

Value transpose(LayerCall& c) {
  Tensor* x = c.x();
  Ints perm = c.has("axes") ? c.ints("axes") : Ints{};
  const int64_t rank = c.rank(x);
  if (perm.empty())
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  for (int64_t& p : perm) p = c.axis(p, rank);
  return c.transpose(x, perm);
}
Value swap_axes(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t rank = c.rank(x);
  const int64_t a = c.axis(c.integer("axis1"), rank), b = c.axis(c.integer("axis2"), rank);
  return c.transpose(x, c.swapped(rank, a, b));
}
Value move_axis(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t rank = c.rank(x);
  Ints from = c.ints("source"), to = c.ints("destination");
  if (from.size() != to.size()) return c.fail(Code::BadAttribute, "the axes do not fit");
  Ints perm(static_cast<size_t>(rank), -1);
  Ints taken;
  for (size_t i = 0; i < from.size(); ++i) {
    from[i] = c.axis(from[i], rank);
    to[i] = c.axis(to[i], rank);
    c.set(perm, to[i], from[i]);
    taken.push_back(from[i]);
  }
  int64_t next = 0;
  for (int64_t& p : perm) {
    if (p >= 0) continue;
    while (std::ranges::find(taken, next) != taken.end()) ++next;
    p = next++;
  }
  return c.transpose(x, perm);
}
Value expand_dims(LayerCall& c) {
  Tensor* x = c.x();
  Ints axes = c.ints("axis");
  const int64_t rank = c.rank(x) + static_cast<int64_t>(axes.size());
  return c.unsqueeze(x, c.axes(axes, rank));
}
Value squeeze(LayerCall& c) {
  Tensor* x = c.x();
  Ints axes;
  if (c.has("axis"))
    axes = c.axes(c.ints("axis"), c.rank(x));
  else
    for (int64_t i = 0; i < c.rank(x); ++i)
      if (c.is_static(x, i) && c.size(x, i) == 1) axes.push_back(i);
  return c.squeeze(x, axes);
}
Value broadcast_to(LayerCall& c) {
  const Ints shape = c.ints("shape");
  return c.expand(c.x(), Sizes(shape.begin(), shape.end()));
}

Tensors listed(LayerCall& c) {
  Tensors all;
  for (const Value& item :
       c.arg(0, "xs").is_list() ? c.arg(0, "xs").items() : c.arg(0, "x").items())
    all.push_back(c.tensor(item));
  if (all.empty()) all = c.inputs();
  return in_one_type(c, all);
}
Value concatenate(LayerCall& c) {
  const Tensors all = listed(c);
  if (c.config("axis").is_none() && c.layer().config.has("axis")) return c.unsupported("axis=None");
  return c.concat(all, c.axis(c.integer("axis", 0), c.rank(all.front())));
}
Value stack(LayerCall& c) {
  const Tensors all = listed(c);
  return c.stack(all, c.axis(c.integer("axis", 0), c.rank(all.front()) + 1));
}
Value hstack(LayerCall& c) {
  const Tensors all = listed(c);
  return c.concat(all, c.rank(all.front()) == 1 ? 0 : 1);
}
Value vstack(LayerCall& c) {
  Tensors all = listed(c);
  for (Tensor*& x : all)
    if (c.rank(x) == 1) x = c.unsqueeze(x, {0});
  return c.concat(all, 0);
}
Value append(LayerCall& c) {
  Tensors all = in_one_type(c, {c.tensor(c.arg(0, "x1")), c.tensor(c.arg(1, "x2"))});
  if (c.config("axis").is_none()) {
    for (Tensor*& x : all) x = c.reshape(x, {-1});
    return c.concat(all, 0);
  }
  return c.concat(all, c.axis(c.integer("axis"), c.rank(all.front())));
}

Value list_of(const Tensors& parts) {
  std::vector<Value> values;
  for (Tensor* part : parts) values.emplace_back(part);
  return Value::list(std::move(values));
}
Value split_along(LayerCall& c, int64_t axis, bool uneven) {
  Tensor* x = c.x();
  axis = c.axis(axis, c.rank(x));
  const Value& where = c.config("indices_or_sections");
  const int64_t whole = c.size(x, axis);
  if (!c.ok()) return x;
  // Where parts begin and end.
  Ints bounds = {0};
  if (where.is_number()) {
    const int64_t n = where.as_int();
    if (n < 1 || n > 65536 || (!uneven && whole % n != 0))
      return c.fail(Code::BadAttribute, "the parts are not equal");
    for (int64_t i = 0; i < n; ++i)
      bounds.push_back(bounds.back() + whole / n + (i < whole % n ? 1 : 0));
  } else {
    for (const int64_t n : c.ints("indices_or_sections"))
      bounds.push_back(std::clamp<int64_t>(n < 0 ? n + whole : n, 0, whole));
    bounds.push_back(whole);
  }
  const size_t count = bounds.size() - 1;
  Tensors parts;
  // Many parts are one operation: a number in the file asks for them.
  if (count > 16 && std::ranges::is_sorted(bounds)) {
    Ints sizes;
    for (size_t i = 0; i < count; ++i) sizes.push_back(bounds[i + 1] - bounds[i]);
    AxisAttrs attrs;
    attrs.axis = axis;
    return list_of(c.add_many(OpKind::Split, {x, c.int_list(sizes)}, attrs, count));
  }
  for (size_t i = 0; i < count; ++i)
    parts.push_back(c.slice(x, axis, bounds[i], std::max(bounds[i], bounds[i + 1])));
  return list_of(parts);
}
Value split(LayerCall& c) { return split_along(c, c.integer("axis", 0), false); }
Value array_split(LayerCall& c) { return split_along(c, c.integer("axis", 0), true); }
Value hsplit(LayerCall& c) { return split_along(c, c.rank(c.x()) == 1 ? 0 : 1, false); }
Value vsplit(LayerCall& c) { return split_along(c, 0, false); }
Value unstack(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t axis = c.axis(c.integer("axis", 0), c.rank(x));
  Tensors parts = c.split(x, axis, c.size(x, axis));
  for (Tensor*& part : parts) part = c.squeeze(part, {axis});
  return list_of(parts);
}

Value flip_axes(LayerCall& c, const Ints& axes) {
  ReverseAttrs attrs;
  attrs.axes = axes;
  return c.add(OpKind::Reverse, {c.x()}, attrs);
}
Value flip(LayerCall& c) { return flip_axes(c, axes_of(c, c.config("axis"), c.rank(c.x()))); }
Value fliplr(LayerCall& c) { return flip_axes(c, {1}); }
Value flipud(LayerCall& c) { return flip_axes(c, {0}); }
Value rot90(LayerCall& c) {
  Tensor* x = c.x();
  const Ints axes = c.has("axes") ? c.ints("axes", 2) : Ints{0, 1};
  const int64_t a = c.axis(axes[0], c.rank(x)), b = c.axis(axes[1], c.rank(x));
  const int64_t turns = ((c.integer("k", 1) % 4) + 4) % 4;
  if (!c.ok() || turns == 0) return x;
  ReverseAttrs attrs;
  attrs.axes = turns == 2 ? Ints{std::min(a, b), std::max(a, b)} : Ints{b};
  if (turns == 2) return c.add(OpKind::Reverse, {x}, attrs);
  const Ints perm = c.swapped(c.rank(x), a, b);
  if (turns == 1) return c.transpose(c.add(OpKind::Reverse, {x}, attrs), perm);
  return c.add(OpKind::Reverse, {c.transpose(x, perm)}, attrs);
}

Value roll(LayerCall& c) {
  Tensor* x = c.x();
  if (c.config("axis").is_none()) return c.unsupported("axis=None");
  const Ints shifts = c.ints("shift"), axes = c.ints("axis");
  if (shifts.empty()) return c.fail(Code::BadAttribute, "'shift' has no number");
  for (size_t i = 0; i < axes.size() && c.ok(); ++i) {
    const int64_t axis = c.axis(axes[i], c.rank(x)), size = c.size(x, axis);
    if (size < 1) return x;
    const int64_t by = ((shifts[std::min(i, shifts.size() - 1)] % size) + size) % size;
    if (by == 0) continue;
    x = c.concat({c.slice(x, axis, size - by, size), c.slice(x, axis, 0, size - by)}, axis);
  }
  return x;
}

Value tile(LayerCall& c) {
  Tensor* x = c.x();
  Ints repeats = c.ints("repeats");
  const int64_t rank = c.rank(x);
  while (static_cast<int64_t>(repeats.size()) < rank) repeats.insert(repeats.begin(), 1);
  Ints front;
  for (int64_t i = rank; i < static_cast<int64_t>(repeats.size()); ++i)
    front.push_back(static_cast<int64_t>(front.size()));
  return c.add(OpKind::Tile, {c.unsqueeze(x, front), c.int_list(repeats)});
}
Value repeat(LayerCall& c) {
  Tensor* x = c.x();
  int64_t axis = 0;
  if (c.config("axis").is_none())
    x = c.reshape(x, {-1});
  else
    axis = c.axis(c.integer("axis"), c.rank(x));
  const Ints repeats = c.ints("repeats");
  if (repeats.size() != 1 || repeats[0] < 0 || repeats[0] > (1 << 20))
    return c.unsupported("repeats that differ");
  Sizes shape = c.sizes(x);
  Ints times(shape.size() + 1, 1);
  c.set(times, axis + 1, repeats[0]);
  Tensor* y = c.add(OpKind::Tile, {c.unsqueeze(x, {axis + 1}), c.int_list(times)});
  c.set(shape, axis, c.is_static(x, axis) ? c.product(c.size(x, axis), repeats[0]) : -1);
  return c.reshape(y, shape);
}

Value pad(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t rank = c.rank(x);
  Ints begins(static_cast<size_t>(rank), 0), ends = begins;
  const Value& width = c.config("pad_width");
  for (size_t i = 0; i < begins.size(); ++i) {
    const bool each =
        width.is_list() && width.items().size() == begins.size() && width.items()[i].is_list();
    const Value& own = each                                           ? width.items()[i]
                       : width.is_list() && width.items().size() == 1 ? width.items()[0]
                                                                      : width;
    const Ints pair = c.ints_of(own, "pad_width", 2);
    begins[i] = pair[0];
    ends[i] = pair[1];
  }
  const std::string mode = c.text("mode", "constant");
  PadMode form = PadMode::Constant;
  if (mode == "reflect")
    form = PadMode::Reflect;
  else if (mode == "edge")
    form = PadMode::Edge;
  else if (mode == "wrap")
    form = PadMode::Wrap;
  else if (mode != "constant")
    return c.unsupported("mode '" + mode + "'");
  const Value& value = c.arg(1, "constant_values");
  return c.pad(x, begins, ends, value.is_number() ? c.like(x, value.as_number()) : nullptr, form);
}

Value take(LayerCall& c) {
  Tensor* x = c.x();
  Tensor* index = c.optional_tensor(c.arg(1, "indices"), DType::I32);
  if (index == nullptr) return c.fail(Code::BadArity, "indices are missing");
  if (!is_integer(index->dtype())) index = c.cast(index, DType::I32);
  if (c.config("axis").is_none()) return c.gather(c.reshape(x, {-1}), index, 0);
  return c.gather(x, index, c.axis(c.integer("axis"), c.rank(x)));
}
Value take_along_axis(LayerCall& c) {
  Tensor* x = c.x();
  Tensor* index = c.optional_tensor(c.arg(1, "indices"), DType::I32);
  if (index == nullptr || c.config("axis").is_none()) return c.unsupported("axis=None");
  GatherAttrs attrs;
  attrs.axis = c.axis(c.integer("axis"), c.rank(x));
  return c.add(OpKind::GatherElements, {x, index}, attrs);
}

Value where(LayerCall& c) {
  Tensor* condition = c.tensor(c.arg(0, "condition"), DType::Bool);
  if (c.arg(1, "x1").is_none() || c.arg(2, "x2").is_none())
    return c.unsupported("the indices of true elements");
  const auto [a, b] = operands(c, c.arg(1, "x1"), c.arg(2, "x2"));
  return c.where(c.cast(condition, DType::Bool), a, b);
}

Value cast(LayerCall& c) {
  const auto type = dtype_of(c.config("dtype"));
  Tensor* x = c.x();
  if (!type) return c.config("dtype").is_none() ? Value(x) : Value(c.unsupported("the type"));
  return c.cast(x, *type);
}
Value nothing(LayerCall& c) {
  return c.arg(0, "variable").is_tensor() ? c.arg(0, "variable") : Value(c.x());
}

Value filled(LayerCall& c, const Value& number) {
  Tensor* x = c.x();
  const DType type = dtype_of(c.config("dtype")).value_or(x->dtype());
  Tensor* value = c.optional_tensor(number, type);
  if (value == nullptr) value = c.scalar(type, 0);
  return c.fill(c.sizes(x), c.cast(value, type));
}
Value ones_like(LayerCall& c) { return filled(c, Value::integer(1)); }
Value zeros_like(LayerCall& c) { return filled(c, Value::integer(0)); }
Value full_like(LayerCall& c) { return filled(c, c.arg(1, "fill_value")); }

template <bool kUpper>
Value triangle(LayerCall& c) {
  TriluAttrs attrs;
  attrs.upper = kUpper;
  return c.add(OpKind::Trilu, {c.x(), c.scalar(DType::I64, static_cast<double>(c.integer("k", 0)))},
               attrs);
}

Value slice(LayerCall& c) {
  Tensor* x = c.x();
  const Value& begin = c.arg(1, "start_indices");
  Tensors parts;
  collect_tensors(begin, parts);
  if (!parts.empty()) return c.unsupported("a place that is computed");
  const Ints starts = c.ints_of(begin, "start_indices"), shape = c.ints("shape");
  if (starts.size() != shape.size() || static_cast<int64_t>(shape.size()) != c.rank(x))
    return c.fail(Code::BadAttribute, "the sizes do not fit");
  Ints ends, axes;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t end = INT64_MAX;
    if (shape[i] >= 0 && __builtin_add_overflow(starts[i], shape[i], &end)) end = INT64_MAX;
    ends.push_back(end);
    axes.push_back(static_cast<int64_t>(i));
  }
  return c.add(OpKind::Slice, {x, c.int_list(starts), c.int_list(ends), c.int_list(axes)});
}

constexpr LayerRow kRows[] = {
    {"GetItem", get_item},
    {"Reshape", reshape},
    {"Ravel", ravel},
    {"Transpose", transpose},
    {"Swapaxes", swap_axes},
    {"Moveaxis", move_axis},
    {"ExpandDims", expand_dims},
    {"Squeeze", squeeze},
    {"BroadcastTo", broadcast_to},
    {"Concatenate", concatenate},
    {"Stack", stack},
    {"Hstack", hstack},
    {"Vstack", vstack},
    {"Append", append},
    {"Split", split},
    {"ArraySplit", array_split},
    {"Hsplit", hsplit},
    {"Vsplit", vsplit},
    {"Unstack", unstack},
    {"Flip", flip},
    {"Fliplr", fliplr},
    {"Flipud", flipud},
    {"Rot90", rot90},
    {"Roll", roll},
    {"Tile", tile},
    {"Repeat", repeat},
    {"Pad", pad},
    {"Take", take},
    {"TakeAlongAxis", take_along_axis},
    {"Where", where},
    {"Cast", cast},
    {"SaturateCast", cast},
    {"ConvertToTensor", cast},
    {"Array", cast},
    {"Copy", nothing},
    {"StopGradient", nothing},
    {"OnesLike", ones_like},
    {"ZerosLike", zeros_like},
    {"FullLike", full_like},
    {"Tril", triangle<false>},
    {"Triu", triangle<true>},
    {"Slice", slice},
};

}  // namespace

const std::span<const LayerRow> kArrayOperations = kRows;

}  // namespace ec::keras
