#include "frontend/op_builder.h"

#include <algorithm>
#include <optional>

#include "frontend/computed_constants.h"
#include "frontend/turned_weights.h"
#include "ops/op_def.h"

namespace ec {
namespace {

// A constant of any size that only gets another shape: the same bytes.
bool reshapes_constant(const Operation& op) {
  return op.def().traits.view && op.outputs().size() == 1 && op.input(0)->is_constant() &&
         op.output()->type().is_static() && op.output()->dtype() == op.input(0)->dtype() &&
         op.output()->type().num_bytes() == op.input(0)->type().num_bytes();
}

// A result whose elements inference knows: the size of a dimension, for example.
bool has_known_elements(const Tensor& tensor) {
  const auto& dims = tensor.dim_values();
  return dims && tensor.type().is_static() &&
         (tensor.dtype() == DType::I64 || tensor.dtype() == DType::I32) &&
         std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_static(); });
}

Tensor* add_known(Graph& graph, const Tensor& tensor) {
  std::vector<int64_t> values;
  for (const Dim& dim : *tensor.dim_values()) values.push_back(dim.size());
  if (tensor.dtype() == DType::I64)
    return graph.add_constant<int64_t>("", *tensor.shape(), std::span<const int64_t>(values));
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return graph.add_constant<int32_t>("", *tensor.shape(), std::span<const int32_t>(narrow));
}

}  // namespace

Result<std::vector<Tensor*>> OpBuilder::add_many(OpKind kind, std::vector<Tensor*> inputs,
                                                 Attrs attrs, size_t num_outputs) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = location_;
  spec.num_outputs = num_outputs;
  EC_TRY(Operation * op, graph_.add(kind, std::move(inputs), std::move(spec)));
  std::vector<Tensor*> constants;
  if (reshapes_constant(*op)) {
    const Tensor* x = op->input(0);
    constants.push_back(graph_.add_constant("", op->output()->type(), x->raw_data()));
  } else if (auto values = computed_results(*op, kMaxFoldBytes)) {
    for (Value& value : *values)
      constants.push_back(graph_.add_constant("", value.type(), std::move(value.data)));
  } else if (num_outputs == 1 && op->bodies().empty() && has_known_elements(*op->output())) {
    constants.push_back(add_known(graph_, *op->output()));
  } else {
    return op->outputs();
  }
  graph_.erase(op);
  return constants;
}

Result<Tensor*> OpBuilder::add(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs) {
  EC_TRY(const std::vector<Tensor*> results,
         add_many(kind, std::move(inputs), std::move(attrs), 1));
  return results.front();
}

Result<Tensor*> OpBuilder::cast(Tensor* x, DType to) {
  if (x->dtype() == to) return x;
  CastAttrs attrs;
  attrs.to = to;
  return add(OpKind::Cast, {x}, attrs);
}

Result<Tensor*> OpBuilder::reshape(Tensor* x, std::span<const int64_t> shape) {
  return reshape(x, ints(shape));
}

Result<Tensor*> OpBuilder::reshape(Tensor* x, Tensor* sizes) {
  ReshapeAttrs attrs;
  attrs.allow_zero = true;
  return add(OpKind::Reshape, {x, sizes}, attrs);
}

Result<Tensor*> OpBuilder::transpose(Tensor* x, std::vector<int64_t> perm) {
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return add(OpKind::Transpose, {x}, attrs);
}

Result<Tensor*> OpBuilder::unsqueeze(Tensor* x, std::vector<int64_t> axes) {
  return add(OpKind::Unsqueeze, {x, ints(axes)});
}

Result<Tensor*> OpBuilder::squeeze(Tensor* x, std::vector<int64_t> axes) {
  return add(OpKind::Squeeze, {x, ints(axes)});
}

Result<Tensor*> OpBuilder::concat(std::vector<Tensor*> parts, int64_t axis) {
  AxisAttrs attrs;
  attrs.axis = axis;
  return add(OpKind::Concat, std::move(parts), attrs);
}

Result<Tensor*> OpBuilder::gather(Tensor* x, Tensor* indices, int64_t axis) {
  GatherAttrs attrs;
  attrs.axis = axis;
  return add(OpKind::Gather, {x, indices}, attrs);
}

Result<Tensor*> OpBuilder::slice(Tensor* x, int64_t axis, int64_t from, int64_t to) {
  return add(OpKind::Slice, {x, ints({from}), ints({to}), ints({axis})});
}

Result<Tensor*> OpBuilder::clip(Tensor* x, double low, double high) {
  return add(OpKind::Clip, {x, scalar(x->dtype(), low), scalar(x->dtype(), high)});
}

Result<Tensor*> OpBuilder::turned(Tensor* x, const std::vector<int64_t>& perm) {
  if (x->is_constant() && weights_ != nullptr)
    if (Tensor* moved = weights_->permuted(graph_, x, perm)) return moved;
  const Operation* op = x->producer();
  if (op == nullptr || op->kind() != OpKind::Dequantize || !op->input(0)->is_constant() ||
      weights_ == nullptr || op->attrs_as<DequantizeAttrs>().block_size != 0)
    return transpose(x, perm);
  // Trained steps: the integers are turned, so that they stay next to the layer.
  Tensor* integers = weights_->permuted(graph_, op->input(0), perm);
  if (integers == nullptr) return transpose(x, perm);
  DequantizeAttrs attrs = op->attrs_as<DequantizeAttrs>();
  const auto axis = std::find(perm.begin(), perm.end(), attrs.axis);
  if (axis != perm.end()) attrs.axis = axis - perm.begin();
  return add(OpKind::Dequantize, {integers, op->input(1), op->input(2)}, attrs);
}

Tensor* OpBuilder::computed(Tensor* x) {
  Operation* op = x->producer();
  if (op == nullptr || op->outputs().size() != 1) return x;
  auto values = computed_results(*op, size_t{1} << 40);
  if (!values) return x;
  return graph_.add_constant("", values->front().type(), std::move(values->front().data));
}

void erase_unused_constants(Graph& graph) {
  for (Tensor* tensor : graph.tensors())
    if (tensor->is_constant() && graph.is_unused(tensor)) graph.erase(tensor);
  for (const Operation* op : graph.topological())
    for (const auto& body : op->bodies()) erase_unused_constants(*body);
}

}  // namespace ec
