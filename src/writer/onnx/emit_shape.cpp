// Shapes, data movement, gathering.
#include "formats/onnx/tensor_data.h"
#include "writer/onnx/emitter.h"

namespace ec::onnx {
namespace {

Status reshape(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<ReshapeAttrs>().allow_zero) a.add("allowzero", int64_t{1});
  e.node("Reshape", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status flatten(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<FlattenAttrs>().axis);
  e.node("Flatten", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status shape(OpEmitter& e) {
  const auto& attrs = e.attrs<ShapeAttrs>();
  AttributeList a;
  if (attrs.start != 0) a.add("start", attrs.start);
  if (attrs.end != INT64_MAX) a.add("end", attrs.end);
  e.node("Shape", e.inputs(), e.outputs(), std::move(a));
  return {};
}

// fill(shape, value): a constant value is an attribute, another one is expanded.
Status fill(OpEmitter& e) {
  const ec::Tensor* value = e.op().input(1);
  if (!value->is_constant()) {
    e.node("Expand", {e.scalar_in(1), e.in(0)}, e.outputs());
    return {};
  }
  const DataTypeInfo& info = *find_data_type(dtype_name(value->dtype()));
  const int64_t one = 1;
  TensorSource tensor;
  tensor.type = info.type;
  tensor.dims = std::span(&one, 1);
  tensor.data = pack_elements(value->raw_data(), info.bits);
  AttributeList a;
  a.add_tensor("value", tensor);
  e.node("ConstantOfShape", {e.in(0)}, e.outputs(), std::move(a));
  return {};
}

Status range(OpEmitter& e) {
  e.node("Range", {e.scalar_in(0), e.scalar_in(1), e.scalar_in(2)}, e.outputs());
  return {};
}

Status eye_like(OpEmitter& e) {
  const auto& attrs = e.attrs<EyeLikeAttrs>();
  AttributeList a;
  a.add("dtype", type_number(attrs.dtype));
  if (attrs.k != 0) a.add("k", attrs.k);
  e.node("EyeLike", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status transpose(OpEmitter& e) {
  const auto& perm = e.attrs<TransposeAttrs>().perm;
  AttributeList a;
  if (!perm.empty()) a.add("perm", std::span<const int64_t>(perm));
  e.node("Transpose", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status concat(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<AxisAttrs>().axis);
  e.node("Concat", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status split(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<AxisAttrs>().axis);
  if (e.op().input(1) == nullptr)
    a.add("num_outputs", static_cast<int64_t>(e.op().outputs().size()));
  e.node("Split", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status pad(OpEmitter& e) {
  AttributeList a;
  a.add("mode", enum_text(e.attrs<PadAttrs>().mode));
  e.node("Pad", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status trilu(OpEmitter& e) {
  AttributeList a;
  a.add("upper", int64_t{e.attrs<TriluAttrs>().upper});
  e.node("Trilu", e.inputs_and_scalars(), e.outputs(), std::move(a));
  return {};
}

Status reverse_sequence(OpEmitter& e) {
  AttributeList a;
  a.add("batch_axis", e.attrs<ReverseSequenceAttrs>().batch_axis);
  a.add("time_axis", e.attrs<ReverseSequenceAttrs>().time_axis);
  e.node("ReverseSequence", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status center_crop_pad(OpEmitter& e) {
  const auto& axes = e.attrs<CenterCropPadAttrs>().axes;
  AttributeList a;
  if (!axes.empty()) a.add("axes", std::span<const int64_t>(axes));
  e.node("CenterCropPad", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status gather(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<GatherAttrs>().axis);
  e.node(e.op().kind() == OpKind::Gather ? "Gather" : "GatherElements", e.inputs(), e.outputs(),
         std::move(a));
  return {};
}

Status gather_nd(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<GatherNdAttrs>().batch_dims != 0)
    a.add("batch_dims", e.attrs<GatherNdAttrs>().batch_dims);
  e.node("GatherND", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status scatter_elements(OpEmitter& e) {
  const auto& attrs = e.attrs<ScatterElementsAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  if (attrs.reduction != Reduction::None) a.add("reduction", enum_text(attrs.reduction));
  e.node("ScatterElements", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status scatter_nd(OpEmitter& e) {
  const auto& attrs = e.attrs<ScatterNdAttrs>();
  AttributeList a;
  if (attrs.reduction != Reduction::None) a.add("reduction", enum_text(attrs.reduction));
  e.node("ScatterND", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status tensor_scatter(OpEmitter& e) {
  const auto& attrs = e.attrs<TensorScatterAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  a.add("mode", std::string_view(attrs.circular ? "circular" : "linear"));
  e.node("TensorScatter", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status one_hot(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<OneHotAttrs>().axis);
  e.node("OneHot", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status compress(OpEmitter& e) {
  const auto& attrs = e.attrs<CompressAttrs>();
  AttributeList a;
  if (!attrs.flatten) a.add("axis", attrs.axis);
  e.node("Compress", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status unique(OpEmitter& e) {
  const auto& attrs = e.attrs<UniqueAttrs>();
  AttributeList a;
  if (!attrs.flatten) a.add("axis", attrs.axis);
  a.add("sorted", int64_t{attrs.sorted});
  e.node("Unique", e.inputs(), e.outputs(), std::move(a));
  return {};
}

constexpr WriteRow kRows[] = {
    {OpKind::Reshape, reshape},
    {OpKind::Flatten, flatten},
    {OpKind::Shape, shape},
    {OpKind::Fill, fill},
    {OpKind::Range, range},
    {OpKind::EyeLike, eye_like},
    {OpKind::Transpose, transpose},
    {OpKind::Concat, concat},
    {OpKind::Split, split},
    {OpKind::Pad, pad},
    {OpKind::Trilu, trilu},
    {OpKind::ReverseSequence, reverse_sequence},
    {OpKind::CenterCropPad, center_crop_pad},
    {OpKind::Gather, gather},
    {OpKind::GatherElements, gather},
    {OpKind::GatherNd, gather_nd},
    {OpKind::ScatterElements, scatter_elements},
    {OpKind::ScatterNd, scatter_nd},
    {OpKind::TensorScatter, tensor_scatter},
    {OpKind::OneHot, one_hot},
    {OpKind::Compress, compress},
    {OpKind::Unique, unique},
};

}  // namespace

const std::span<const WriteRow> kWriteShape = kRows;

}  // namespace ec::onnx
