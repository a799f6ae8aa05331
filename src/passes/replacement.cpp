#include "passes/replacement.h"

#include <algorithm>

namespace ec::passes {

Tensor* Replacement::op(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs) {
  if (!ok()) return nullptr;
  Result<Tensor*> result = rewriter_.add(kind, std::move(inputs), std::move(attrs), {op_});
  if (result.ok()) return *result;
  status_ = std::move(result).error();
  return nullptr;
}

std::vector<Tensor*> Replacement::op_many(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                                          size_t num_outputs) {
  std::vector<Tensor*> nothing(num_outputs, nullptr);
  if (!ok()) return nothing;
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = op_->location();
  spec.num_outputs = num_outputs;
  Result<Operation*> added = rewriter_.add_op(kind, std::move(inputs), std::move(spec));
  if (added.ok()) return (*added)->outputs();
  status_ = std::move(added).error();
  return nothing;
}

Tensor* Replacement::number(const Tensor* like, double value) {
  return ok() ? rewriter_.scalar(like->dtype(), value) : nullptr;
}

Tensor* Replacement::reduce(OpKind kind, Tensor* x, std::vector<int64_t> axes, bool keep_dims) {
  if (axes.empty()) return x;  // an empty list as an operand would mean all
  return op(kind, {x, ints(axes)}, ReduceAttrs{.keep_dims = keep_dims});
}

Tensor* Replacement::sized(Tensor* x, std::vector<int64_t> sizes) {
  if (!ok()) return nullptr;
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  return op(OpKind::Reshape, {x, ints(sizes)}, ReshapeAttrs{.allow_zero = empty});
}

Tensor* Replacement::reshape(Tensor* x, const Shape& shape) {
  if (!ok()) return nullptr;
  if (x->shape() && same_shape(*x->shape(), shape)) return x;
  Result<Tensor*> result = add_reshape(rewriter_, x, shape, {op_});
  if (!result.ok()) {
    status_ = std::move(result).error();
    return nullptr;
  }
  if (*result == nullptr)
    status_ = Error(Code::DynamicShape, "more than one size of " + shape.text() + " is open")
                  .node(std::string(op_->location().name()), op_->location().op_type);
  return *result;
}

Tensor* Replacement::transpose(Tensor* x, Perm perm) {
  if (!ok() || is_identity(perm)) return x;
  return op(OpKind::Transpose, {x}, TransposeAttrs{.perm = std::move(perm)});
}

Tensor* Replacement::slice(Tensor* x, int64_t axis, int64_t begin, int64_t end) {
  const int64_t begins[] = {begin}, ends[] = {end}, axes[] = {axis};
  return op(OpKind::Slice, {x, ints(begins), ints(ends), ints(axes)});
}

Tensor* Replacement::concat(std::vector<Tensor*> parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  return op(OpKind::Concat, std::move(parts), AxisAttrs{.axis = axis});
}

Tensor* Replacement::cast(Tensor* x, DType to) {
  if (!ok() || x->dtype() == to) return x;
  return op(OpKind::Cast, {x}, CastAttrs{.to = to});
}

Tensor* Replacement::pad(Tensor* x, const std::vector<int64_t>& pads, std::optional<double> value) {
  if (!ok() || std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) return x;
  std::vector<Tensor*> inputs{x, ints(pads)};
  if (value) inputs.push_back(number(x, *value));
  Tensor* result = op(OpKind::Pad, std::move(inputs), PadAttrs{});
  if (result != nullptr && x->type().quant) rewriter_.graph().set_quant(result, x->type().quant);
  return result;
}

Tensor* Replacement::gather(Tensor* x, std::span<const int64_t> indices, int64_t axis) {
  return op(OpKind::Gather, {x, ints(indices)}, GatherAttrs{.axis = axis});
}

Tensor* Replacement::floats(Shape shape, std::span<const float> values) {
  return rewriter_.graph().add_constant<float>("", std::move(shape), values);
}

Result<bool> Replacement::replace(Tensor* result) {
  if (!ok()) return std::move(status_).error();
  rewriter_.replace(op_, result);
  return true;
}

Result<bool> Replacement::replace_all(std::span<Tensor* const> results) {
  if (!ok()) return std::move(status_).error();
  rewriter_.replace_results(op_, results);
  return true;
}

}  // namespace ec::passes
