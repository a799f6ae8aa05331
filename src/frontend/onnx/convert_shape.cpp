// Shapes: reshaping, sizes as values, filled tensors.
#include "formats/onnx/decode.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status reshape_by_attribute(NodeContext& ctx) {
  ctx.ignore_attr("consumed_inputs");
  const std::vector<int64_t> shape = ctx.attr_ints("shape");
  return ctx.finish(OpKind::Reshape, {ctx.in(0), ctx.ints(shape)}, ReshapeAttrs{});
}

Status reshape(NodeContext& ctx) {
  ReshapeAttrs attrs;
  attrs.allow_zero = ctx.attr_bool("allowzero", false);
  return ctx.finish(OpKind::Reshape, ctx.tensors(), attrs);
}

Status flatten(NodeContext& ctx) {
  FlattenAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 1);
  return ctx.finish(OpKind::Flatten, {ctx.in(0)}, attrs);
}

template <OpKind kKind>
Status axes_by_attribute(NodeContext& ctx) {
  const std::vector<int64_t> axes = ctx.attr_ints("axes");
  if (kKind == OpKind::Unsqueeze && !ctx.has_attr("axes"))
    return ctx.fail(Code::BadAttribute, "attribute 'axes' is missing");
  return ctx.finish(kKind, {ctx.in(0), ctx.has_attr("axes") ? ctx.ints(axes) : nullptr});
}

// Axes are a list; a scalar, which some exporters write, stands for a list of one.
template <OpKind kKind>
Status with_axes(NodeContext& ctx) {
  ec::Tensor* axes = ctx.in(1);
  if (axes != nullptr && axes->shape() && axes->shape()->rank() == 0) {
    const auto known = NodeContext::known_ints(axes);
    if (known) {
      axes = ctx.ints(*known);
    } else {
      EC_TRY(axes, ctx.reshape(axes, std::vector<int64_t>{1}));
    }
  }
  return ctx.finish(kKind, {ctx.in(0), axes});
}

Status shape(NodeContext& ctx) {
  ShapeAttrs attrs;
  attrs.start = ctx.attr_int("start", 0);
  attrs.end = ctx.attr_int("end", INT64_MAX);
  return ctx.finish(OpKind::Shape, {ctx.in(0)}, attrs);
}

Status range(NodeContext& ctx) {
  ctx.ignore_attr("stash_type");
  return ctx.finish(OpKind::Range, ctx.tensors());
}

Status constant_of_shape(NodeContext& ctx) {
  ec::Tensor* value = nullptr;
  if (ctx.has_attr("value")) {
    const Bytes message = ctx.attr_message("value", AttributeType::Tensor);
    EC_CHECK_OK(ctx.attr_status());
    EC_TRY(value, ctx.constant(message));
    if (value->type().num_elements() != 1)
      return ctx.fail(Code::BadAttribute, "attribute 'value' has to hold one element");
    if (value->shape()->rank() != 0)
      value = ctx.graph().add_constant("", TensorType(value->dtype(), Shape{}), value->raw_data());
  } else {
    value = ctx.scalar(DType::F32, 0.0);
  }
  return ctx.finish(OpKind::Fill, {ctx.in(0), value});
}

Status eye_like(NodeContext& ctx) {
  EyeLikeAttrs attrs;
  attrs.dtype = ctx.attr_dtype("dtype", ctx.dtype());
  attrs.k = ctx.attr_int("k", 0);
  return ctx.finish(OpKind::EyeLike, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, k1to2{1, 2};

constexpr OpRow kRows[] = {
    {"Reshape", 1, 4, k1, k1, reshape_by_attribute},
    {"Reshape", 5, kLatest, k2, k1, reshape},
    {"Flatten", 1, kLatest, k1, k1, flatten},
    {"Squeeze", 1, 12, k1, k1, axes_by_attribute<OpKind::Squeeze>},
    {"Squeeze", 13, kLatest, k1to2, k1, with_axes<OpKind::Squeeze>},
    {"Unsqueeze", 1, 12, k1, k1, axes_by_attribute<OpKind::Unsqueeze>},
    {"Unsqueeze", 13, kLatest, k2, k1, with_axes<OpKind::Unsqueeze>},
    {"Expand", 8, kLatest, k2, k1, direct<OpKind::Expand>},
    {"Shape", 1, kLatest, k1, k1, shape},
    {"Size", 1, kLatest, k1, k1, direct<OpKind::Size>},
    {"Range", 11, kLatest, k3, k1, range},
    {"ConstantOfShape", 9, kLatest, k1, k1, constant_of_shape},
    {"EyeLike", 9, kLatest, k1, k1, eye_like},
};

}  // namespace

const std::span<const OpRow> kShapeRows = kRows;

}  // namespace ec::onnx
