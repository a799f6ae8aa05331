#include "frontend/graph_builder.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "frontend/computed_constants.h"

namespace ec {
namespace {

// Weights that are computed from others: those of one layer.
constexpr size_t kMaxWeightBytes = size_t{1} << 31;

// Constants with the values of the operation's results, or nothing when they are not known.
std::optional<Tensors> folded(Graph& graph, const Operation& op, size_t max_bytes) {
  auto results = computed_results(op, max_bytes);
  if (!results) return std::nullopt;
  Tensors constants;
  for (Value& value : *results)
    constants.push_back(graph.add_constant("", value.type(), std::move(value.data)));
  return constants;
}

}  // namespace

// --- problems -----------------------------------------------------------------------------------

void GraphBuilder::remember(Error error) {
  if (!error_) error_ = std::move(error);
}

Tensor* GraphBuilder::nothing() {
  if (nothing_ == nullptr) nothing_ = graph().add_scalar("", DType::F32, 0.0);
  return nothing_;
}

Tensor* GraphBuilder::fail(Code code, std::string message) {
  remember(Error(code, std::move(message)));
  return nothing();
}

Status GraphBuilder::status() {
  return error_ ? Status(*std::exchange(error_, std::nullopt)) : Status();
}

// --- shapes -------------------------------------------------------------------------------------

int64_t GraphBuilder::rank(const Tensor* x) {
  if (x->shape()) return static_cast<int64_t>(x->shape()->rank());
  fail(Code::DynamicShape, "the number of dimensions of an operand is not known");
  return 0;
}

int64_t GraphBuilder::axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  fail(Code::BadValue, "axis " + std::to_string(axis) + " does not exist: there are " +
                           std::to_string(rank) + " dimensions");
  return 0;
}

Ints GraphBuilder::axes(Ints list, int64_t rank) {
  std::set<int64_t> all;
  for (const int64_t a : list) all.insert(axis(a, rank));
  return {all.begin(), all.end()};
}

bool GraphBuilder::is_static(const Tensor* x, int64_t axis) {
  return x->shape() && axis >= 0 && axis < static_cast<int64_t>(x->shape()->rank()) &&
         (*x->shape())[static_cast<size_t>(axis)].is_static();
}

int64_t GraphBuilder::size(const Tensor* x, int64_t axis) {
  if (is_static(x, axis)) return (*x->shape())[static_cast<size_t>(axis)].size();
  remember(Error(Code::DynamicShape,
                 "size " + std::to_string(axis) + " of " + x->type().text() + " has to be known")
               .hint("give the sizes of the inputs with --input-shape"));
  return 1;
}

Sizes GraphBuilder::sizes(Tensor* x) {
  Sizes all;
  for (int64_t i = 0, n = rank(x); i < n; ++i) all.emplace_back(x, i);
  return all;
}

Tensor* GraphBuilder::shape_list(const Sizes& sizes) {
  Tensors parts;
  Ints known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(int_list(known));
    known.clear();
  };
  for (const Size& size : sizes) {
    if (size.of == nullptr) {
      known.push_back(size.value);
    } else if (is_static(size.of, size.axis)) {
      known.push_back(this->size(size.of, size.axis));
    } else {
      flush();
      ShapeAttrs attrs;
      attrs.start = size.axis;
      attrs.end = size.axis + 1;
      parts.push_back(add(OpKind::Shape, {size.of}, attrs));
    }
  }
  flush();
  if (parts.empty()) return int_list({});
  return concat(std::move(parts), 0);
}

// --- lists by axis ------------------------------------------------------------------------------

void GraphBuilder::no_entry(int64_t axis, size_t count) {
  fail(Code::BadValue, "axis " + std::to_string(axis) + " does not exist: there are " +
                           std::to_string(count) + " dimensions");
}

Ints GraphBuilder::in_order(int64_t rank) {
  Ints axes(static_cast<size_t>(std::max<int64_t>(rank, 0)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Ints GraphBuilder::swapped(int64_t rank, int64_t a, int64_t b) {
  Ints axes = in_order(rank);
  set(axes, a, b);
  set(axes, b, a);
  return axes;
}

Sizes GraphBuilder::along(int64_t rank, int64_t axis, Size size) {
  Sizes sizes(static_cast<size_t>(std::max<int64_t>(rank, 0)), Size(1));
  set(sizes, axis, size);
  return sizes;
}

int64_t GraphBuilder::product(int64_t a, int64_t b) {
  if (const auto all = checked_mul(a, b)) return *all;
  fail(Code::TooLarge, std::to_string(a) + " times " + std::to_string(b) +
                           " elements are more than can be counted");
  return 1;
}

// --- building -----------------------------------------------------------------------------------

bool GraphBuilder::may_add(size_t tensors) {
  if (!ok()) return false;
  if (room_ == nullptr) return true;
  if (*room_ < tensors) {
    fail(Code::TooLarge, "the model unfolds to more operations than its file can justify");
    return false;
  }
  *room_ -= tensors;
  return true;
}

Tensors GraphBuilder::add_folding(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs,
                                  size_t limit) {
  if (!may_add(num_outputs)) return Tensors(num_outputs, nothing());
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = location_;
  spec.num_outputs = num_outputs;
  auto op = graph().add(kind, std::move(inputs), std::move(spec));
  if (!op.ok()) {
    remember(std::move(op).error());
    return Tensors(num_outputs, nothing());
  }
  if (auto constants = folded(graph(), **op, limit)) {
    graph().erase(*op);
    return std::move(*constants);
  }
  return (*op)->outputs();
}

Tensors GraphBuilder::add_many(OpKind kind, Tensors inputs, Attrs attrs, size_t num_outputs) {
  return add_folding(kind, std::move(inputs), std::move(attrs), num_outputs, kMaxFoldBytes);
}

Tensor* GraphBuilder::add(OpKind kind, Tensors inputs, Attrs attrs) {
  return add_many(kind, std::move(inputs), std::move(attrs), 1).front();
}

Tensor* GraphBuilder::add_weight(OpKind kind, Tensors inputs, Attrs attrs) {
  return add_folding(kind, std::move(inputs), std::move(attrs), 1, kMaxWeightBytes).front();
}

Tensor* GraphBuilder::cast(Tensor* x, DType to) {
  if (x->dtype() == to) return x;
  CastAttrs attrs;
  attrs.to = to;
  return x->is_constant() ? add_weight(OpKind::Cast, {x}, attrs) : add(OpKind::Cast, {x}, attrs);
}

Tensor* GraphBuilder::clip(Tensor* x, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) return x;
  return add(OpKind::Clip, {x, low ? like(x, *low) : nullptr, high ? like(x, *high) : nullptr});
}

Tensor* GraphBuilder::reshape(Tensor* x, const Sizes& shape) {
  // One open size follows from the others.
  Sizes sizes;
  size_t open = 0;
  for (const Size& size : shape) {
    const bool known = size.of == nullptr || is_static(size.of, size.axis);
    open += known && !(size.of == nullptr && size.value == -1) ? 0 : 1;
    sizes.push_back(known ? size.of == nullptr ? size : Size(this->size(size.of, size.axis))
                          : size);
  }
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  if (open == 1)
    for (Size& size : sizes)
      if (size.of != nullptr) size = Size(-1);
  // An empty dimension cannot tell what is left for the open one.
  const bool empty =
      std::ranges::any_of(sizes, [](const Size& s) { return s.of == nullptr && s.value == 0; });
  Tensor* list = shape_list(empty ? shape : sizes);
  return x->is_constant() ? add_weight(OpKind::Reshape, {x, list}, attrs)
                          : add(OpKind::Reshape, {x, list}, attrs);
}

Tensor* GraphBuilder::transpose(Tensor* x, Ints perm) {
  // In order, and for all dimensions: other lists that are sorted are left to inference to refuse.
  const auto count = static_cast<int64_t>(perm.size());
  if (perm == in_order(count) && (!x->shape() || rank(x) == count)) return x;
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return x->is_constant() ? add_weight(OpKind::Transpose, {x}, attrs)
                          : add(OpKind::Transpose, {x}, attrs);
}

Tensor* GraphBuilder::unsqueeze(Tensor* x, const Ints& axes) {
  if (axes.empty()) return x;
  return x->is_constant() ? add_weight(OpKind::Unsqueeze, {x, int_list(axes)})
                          : add(OpKind::Unsqueeze, {x, int_list(axes)});
}

Tensor* GraphBuilder::squeeze(Tensor* x, const Ints& axes) {
  if (axes.empty()) return x;
  return x->is_constant() ? add_weight(OpKind::Squeeze, {x, int_list(axes)})
                          : add(OpKind::Squeeze, {x, int_list(axes)});
}

Tensor* GraphBuilder::slice(Tensor* x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  Tensors operands = {x, int_list({begin}), int_list({end}), int_list({axis}), int_list({step})};
  return x->is_constant() ? add_weight(OpKind::Slice, std::move(operands))
                          : add(OpKind::Slice, std::move(operands));
}

Tensor* GraphBuilder::expand(Tensor* x, const Sizes& shape) {
  return add(OpKind::Expand, {x, shape_list(shape)});
}

Tensor* GraphBuilder::concat(Tensors parts, int64_t axis) {
  if (parts.empty()) return fail(Code::BadArity, "nothing to join");
  if (parts.size() == 1) return parts.front();
  AxisAttrs attrs;
  attrs.axis = axis;
  const bool weights = std::ranges::all_of(parts, [](Tensor* t) { return t->is_constant(); });
  return weights ? add_weight(OpKind::Concat, std::move(parts), attrs)
                 : add(OpKind::Concat, std::move(parts), attrs);
}

Tensors GraphBuilder::split(Tensor* x, int64_t axis, int64_t count) {
  if (count == 1) return {x};
  const int64_t whole = size(x, axis);
  if (count < 1 || count > (1 << 16) || whole % count != 0) {
    fail(Code::ShapeMismatch, std::to_string(count) + " equal parts of size " +
                                  std::to_string(whole) + " cannot be made");
    return Tensors(static_cast<size_t>(std::clamp<int64_t>(count, 1, 16)), nothing());
  }
  if (x->is_constant()) {
    Tensors parts;
    for (int64_t i = 0; i < count; ++i)
      parts.push_back(slice(x, axis, i * (whole / count), (i + 1) * (whole / count)));
    return parts;
  }
  AxisAttrs attrs;
  attrs.axis = axis;
  return add_many(OpKind::Split, {x, int_list(Ints(static_cast<size_t>(count), whole / count))},
                  attrs, static_cast<size_t>(count));
}

Tensor* GraphBuilder::stack(Tensors parts, int64_t axis) {
  for (Tensor*& part : parts) part = unsqueeze(part, {axis});
  return concat(std::move(parts), axis);
}

Tensor* GraphBuilder::gather(Tensor* x, Tensor* index, int64_t axis) {
  GatherAttrs attrs;
  attrs.axis = axis;
  return x->is_constant() && index->is_constant() ? add_weight(OpKind::Gather, {x, index}, attrs)
                                                  : add(OpKind::Gather, {x, index}, attrs);
}

Tensor* GraphBuilder::reverse(Tensor* x, int64_t axis) {
  ReverseAttrs attrs;
  attrs.axes = {axis};
  return x->is_constant() ? add_weight(OpKind::Reverse, {x}, attrs)
                          : add(OpKind::Reverse, {x}, attrs);
}

Tensor* GraphBuilder::reduce(OpKind kind, Tensor* x, const Ints& axes, bool keep_dims) {
  ReduceAttrs attrs;
  attrs.keep_dims = keep_dims;
  attrs.noop_with_empty_axes = true;
  return add(kind, {x, int_list(axes)}, attrs);
}

Tensor* GraphBuilder::matmul(Tensor* a, Tensor* b, bool transpose_b) {
  MatMulAttrs attrs;
  attrs.transpose_b = transpose_b;
  return add(OpKind::MatMul, {a, b}, attrs);
}

Tensor* GraphBuilder::softmax(Tensor* x, int64_t axis) {
  AxisAttrs attrs;
  attrs.axis = axis;
  return add(OpKind::Softmax, {x}, attrs);
}

Tensor* GraphBuilder::fill(const Sizes& shape, Tensor* value) {
  return add(OpKind::Fill, {shape_list(shape), value});
}

Tensor* GraphBuilder::pad(Tensor* x, const Ints& begins, const Ints& ends, Tensor* value,
                          PadMode mode) {
  const auto zero = [](int64_t n) { return n == 0; };
  if (std::ranges::all_of(begins, zero) && std::ranges::all_of(ends, zero)) return x;
  Ints pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  PadAttrs attrs;
  attrs.mode = mode;
  Tensors operands = {x, int_list(pads)};
  if (value != nullptr) operands.push_back(value);
  return add(OpKind::Pad, std::move(operands), attrs);
}

}  // namespace ec
