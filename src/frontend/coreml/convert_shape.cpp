// Shapes, and tensors that are made from them.
#include <algorithm>

#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

// A size of 0 is that of x, counted from the last one; 1 where x has none.
Sizes counted_from_end(OpCall& c, Tensor* x, const Ints& shape) {
  Sizes sizes;
  const int64_t ahead = c.rank(x) - static_cast<int64_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t axis = ahead + static_cast<int64_t>(i);
    if (shape[i] != 0)
      sizes.emplace_back(shape[i]);
    else
      sizes.push_back(axis < 0 ? Size(1) : Size(x, axis));
  }
  return sizes;
}

Tensors reshape(OpCall& c) {
  Tensor* x = c.in("x");
  if (const auto shape = c.known("shape");
      shape && c.opset() >= kIos17 && std::ranges::find(*shape, 0) != shape->end())
    return {c.reshape(x, counted_from_end(c, x, *shape))};
  return {c.add(OpKind::Reshape, {x, c.as_i64(c.in("shape"))}, ReshapeAttrs{})};
}

// Sizes that runs of dimensions of other tensors give.
Tensors reshape_like(OpCall& c) {
  Tensor* x = c.in("x");
  const Tensors refs = c.list("ref_tensors");
  const Ints begins = c.ints("begins"), ends = c.ints("ends"), open = c.ints("end_masks");
  if (!c.ok() || begins.size() != refs.size() || ends.size() != refs.size() ||
      open.size() != refs.size())
    return {c.fail(Code::BadArity, "begins and ends do not fit the tensors")};
  Sizes sizes;
  for (size_t i = 0; i < refs.size(); ++i) {
    const int64_t dims = c.rank(refs[i]);
    const auto place = [&](int64_t at) {
      return std::clamp(at < 0 ? at + dims : at, int64_t{0}, dims);
    };
    const int64_t last = open[i] != 0 ? dims : place(ends[i]);
    for (int64_t axis = place(begins[i]); axis < last; ++axis) sizes.emplace_back(refs[i], axis);
  }
  return {c.reshape(x, sizes)};
}

Tensors expand_dims(OpCall& c) {
  Tensor* x = c.in("x");
  const Ints given = c.ints("axes");
  const int64_t dims = c.rank(x) + static_cast<int64_t>(given.size());
  const Ints axes = c.axes(given, dims);
  if (axes.size() != given.size()) return {c.fail(Code::BadValue, "'axes' name an axis twice")};
  return {c.unsqueeze(x, axes)};
}

Tensors squeeze(OpCall& c) {
  Tensor* x = c.in("x");
  Ints axes;
  // Only dimensions of size 1 go; without axes all of them.
  for (const int64_t axis : c.axes_of(x, "axes"))
    if (c.is_static(x, axis) ? c.size(x, axis) == 1 : c.has("axes")) axes.push_back(axis);
  return {c.squeeze(x, axes)};
}

Tensors flatten2d(OpCall& c) {
  Tensor* x = c.in("x");
  FlattenAttrs attrs;
  const int64_t axis = c.integer("axis", 1);
  attrs.axis = axis < 0 ? axis + c.rank(x) : axis;
  return {c.add(OpKind::Flatten, {x}, attrs)};
}

Tensors shape(OpCall& c) { return {c.shape_list(c.sizes(c.in("x")))}; }

// A constant of the parameter's own type; 0.0 where it is absent.
Tensor* fill_value(OpCall& c) {
  if (!c.has("value")) return c.scalar(c.declared_dtype(), 0);
  Tensor* value = c.in("value");
  return c.rank(value) == 0 ? value : c.reshape(value, Sizes{});
}

Tensors fill(OpCall& c) { return {c.add(OpKind::Fill, {c.as_i64(c.in("shape")), fill_value(c)})}; }

Tensors fill_like(OpCall& c) { return {c.fill(c.sizes(c.in("ref_tensor")), fill_value(c))}; }

Tensors range_1d(OpCall& c) {
  const auto one = [&](std::string_view parameter) {
    Tensor* x = c.in(parameter);
    return c.rank(x) == 0 ? x : c.reshape(x, Sizes{});
  };
  return {c.add(OpKind::Range, {one("start"), one("end"), one("step")})};
}

Tensors non_zero(OpCall& c) {
  // One row for each element; the IR has one row for each dimension.
  return {c.transpose(c.add(OpKind::NonZero, {c.in("x")}), {1, 0})};
}

Tensors one_hot(OpCall& c) {
  Tensor* indices = c.in("indices");
  OneHotAttrs attrs;
  attrs.axis = c.integer("axis", -1);
  const auto value = [&](std::string_view parameter, double otherwise) {
    Tensor* x = c.has(parameter) ? c.in(parameter) : c.scalar(c.declared_dtype(), otherwise);
    return c.reshape(x, {1});
  };
  Tensor* values = c.concat({value("off_value", 0), value("on_value", 1)}, 0);
  Tensor* depth = c.reshape(c.cast(c.in("one_hot_vector_size"), DType::I64), Sizes{});
  return {c.add(OpKind::OneHot, {c.cast(indices, DType::I64), depth, values}, attrs)};
}

constexpr OpRow kRows[] = {
    {"reshape", kIos15, "x shape", reshape},
    {"reshape_like", kIos16, "x ref_tensors begins ends end_masks", reshape_like},
    {"expand_dims", kIos15, "x axes", expand_dims},
    {"squeeze", kIos15, "x axes?", squeeze},
    {"flatten2d", kIos15, "x axis?", flatten2d},
    {"shape", kIos15, "x", shape},
    {"fill", kIos15, "shape value?", fill},
    {"fill_like", kIos16, "ref_tensor value?", fill_like},
    {"range_1d", kIos15, "start end step", range_1d},
    {"non_zero", kIos15, "x", non_zero},
    {"one_hot", kIos15, "indices one_hot_vector_size axis? on_value? off_value?", one_hot},
};

}  // namespace

const std::span<const OpRow> kShapeRows = kRows;

}  // namespace ec::mil
