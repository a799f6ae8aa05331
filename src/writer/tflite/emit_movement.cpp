// Shapes and the movement of elements.
#include <algorithm>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// A new shape for the same elements: known but for one size, or computed.
Status emit_reshape(OpEmitter& e) {
  const auto& shape = e.op().output()->shape();
  std::vector<int64_t> sizes;
  int open = 0;
  if (shape)
    for (const Dim& dim : *shape) {
      sizes.push_back(dim.is_static() ? dim.size() : -1);
      open += dim.is_static() ? 0 : 1;
    }
  if (!shape || open > 1) {
    if (e.op().kind() != OpKind::Reshape || int_values(e.op().input(1)))
      return e.require_static(*e.op().output());
    EC_TRY(const int32_t target, e.int32_operand(1));
    e.add(Op::RESHAPE, {e.in(0), target}, {e.out()});
    return {};
  }
  const std::vector<int32_t> narrow(sizes.begin(), sizes.end());
  const int32_t target = e.ints(sizes);
  e.add(Op::RESHAPE, {e.in(0), target}, {e.out()},
        options(BuiltinOptions::ReshapeOptions,
                CreateReshapeOptions(e.fbb(), e.fbb().CreateVector(narrow))));
  return {};
}

Status emit_transpose(OpEmitter& e) {
  std::vector<int64_t> perm = e.attrs<TransposeAttrs>().perm;
  if (perm.empty())
    for (size_t i = e.rank(); i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  if (perm.size() > 6) return e.fail("more than 6 dimensions");
  e.add(Op::TRANSPOSE, {e.in(0), e.ints(perm)}, {e.out()},
        options(BuiltinOptions::TransposeOptions, CreateTransposeOptions(e.fbb())));
  return {};
}

Status emit_concat(OpEmitter& e) {
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<AxisAttrs>().axis, e.rank()));
  e.add(Op::CONCATENATION, e.inputs(), e.outputs(),
        options(BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(e.fbb(), axis)));
  return {};
}

Status emit_split(OpEmitter& e) {
  const int64_t axis = positive_axis(e.attrs<AxisAttrs>().axis, e.rank());
  const auto parts = static_cast<int32_t>(e.op().outputs().size());
  std::vector<int64_t> sizes;
  for (const ec::Tensor* output : e.op().outputs()) {
    const Dim dim = (*output->shape())[static_cast<size_t>(axis)];
    if (!dim.is_static()) return e.require_static(*output);
    sizes.push_back(dim.size());
  }
  const bool equal =
      std::all_of(sizes.begin(), sizes.end(), [&](int64_t s) { return s == sizes[0]; });
  if (equal)
    e.add(Op::SPLIT, {e.int_scalar(axis), e.in(0)}, e.outputs(),
          options(BuiltinOptions::SplitOptions, CreateSplitOptions(e.fbb(), parts)));
  else
    e.add(Op::SPLIT_V, {e.in(0), e.ints(sizes), e.int_scalar(axis)}, e.outputs(),
          options(BuiltinOptions::SplitVOptions, CreateSplitVOptions(e.fbb(), parts)));
  return {};
}

struct SliceBox {
  std::vector<int64_t> begin, end,
      stride;  // as numpy means them; end of a backward slice may be -1
};

// Places of a slice with known operands along known sizes.
std::optional<SliceBox> slice_box(const Operation& op) {
  const auto& shape = op.input(0)->shape();
  const auto starts = int_values(op.input(1)), ends = int_values(op.input(2));
  if (!shape || !starts || !ends) return std::nullopt;
  SliceBox box;
  for (const Dim& dim : *shape) {
    box.begin.push_back(0);
    box.end.push_back(dim.is_static() ? dim.size() : -1);
    box.stride.push_back(1);
  }
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axes = int_values(op.input(3)), steps = int_values(op.input(4));
    if ((op.input(3) != nullptr && !axes) || (op.input(4) != nullptr && !steps))
      return std::nullopt;
    const auto d = static_cast<size_t>(axes ? positive_axis((*axes)[i], shape->rank())
                                            : static_cast<int64_t>(i));
    if (!(*shape)[d].is_static()) return std::nullopt;
    const int64_t size = (*shape)[d].size(), step = steps ? (*steps)[i] : 1;
    const auto place = [size](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    box.stride[d] = step;
    box.begin[d] = step > 0 ? place((*starts)[i], 0, size) : place((*starts)[i], 0, size - 1);
    box.end[d] = step > 0 ? place((*ends)[i], 0, size) : place((*ends)[i], -1, size - 1);
  }
  return box;
}

Status emit_slice(OpEmitter& e) {
  const auto box = slice_box(e.op());
  if (!box)
    return e.fail("places that are computed",
                  "export with fixed sizes, so that they are constants");
  const bool plain =
      std::all_of(box->stride.begin(), box->stride.end(), [](int64_t s) { return s == 1; });
  if (plain) {
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < box->begin.size(); ++d)
      sizes.push_back(box->end[d] < 0 ? -1 : std::max<int64_t>(0, box->end[d] - box->begin[d]));
    e.add(Op::SLICE, {e.in(0), e.ints(box->begin), e.ints(sizes)}, {e.out()},
          options(BuiltinOptions::SliceOptions, CreateSliceOptions(e.fbb())));
    return {};
  }
  // A negative end means "from the back": the mask says that it is the very begin.
  int32_t end_mask = 0;
  for (size_t d = 0; d < box->end.size(); ++d)
    if (box->end[d] < 0) end_mask |= 1 << d;
  e.add(Op::STRIDED_SLICE, {e.in(0), e.ints(box->begin), e.ints(box->end), e.ints(box->stride)},
        {e.out()},
        options(BuiltinOptions::StridedSliceOptions,
                CreateStridedSliceOptions(e.fbb(), 0, end_mask)));
  return {};
}

Status emit_pad(OpEmitter& e) {
  const auto pads = int_values(e.op().input(1));
  if (!pads) return e.fail("pads that are computed", "export with fixed sizes");
  const size_t rank = e.rank();
  std::vector<int64_t> table(rank * 2, 0);
  std::vector<int64_t> axes;
  if (const auto given = int_values(e.op().input(3)))
    axes = *given;
  else
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(positive_axis(axes[i], rank));
    table[2 * d] = (*pads)[i];
    table[2 * d + 1] = (*pads)[i + axes.size()];
  }
  if (std::any_of(table.begin(), table.end(), [](int64_t p) { return p < 0; }))
    return e.fail("negative pads");
  std::vector<int32_t> narrow(table.begin(), table.end());
  const int32_t paddings =
      e.constant(ec::TensorType(DType::I32, Shape{Dim(static_cast<int64_t>(rank)), Dim(2)}),
                 Blob::copy_of(std::span<const int32_t>(narrow)));
  const PadMode mode = e.attrs<PadAttrs>().mode;
  if (mode == PadMode::Reflect) {
    e.add(Op::MIRROR_PAD, {e.in(0), paddings}, {e.out()},
          options(BuiltinOptions::MirrorPadOptions,
                  CreateMirrorPadOptions(e.fbb(), MirrorPadMode::REFLECT)));
    return {};
  }
  if (mode != PadMode::Constant) return e.fail("repeating the edge or the whole");
  const auto value = scalar_value(e.op().input(2));
  if (!e.has(2) || value == 0.0) {
    e.add(Op::PAD, {e.in(0), paddings}, {e.out()},
          options(BuiltinOptions::PadOptions, CreatePadOptions(e.fbb())));
    return {};
  }
  const int32_t filler = e.has(2) && value ? e.number(e.input(0).type(), *value) : e.in(2);
  e.add(Op::PADV2, {e.in(0), paddings, filler}, {e.out()},
        options(BuiltinOptions::PadV2Options, CreatePadV2Options(e.fbb())));
  return {};
}

Status emit_tile(OpEmitter& e) {
  EC_TRY(const int32_t repeats, e.int32_operand(1));
  e.add(Op::TILE, {e.in(0), repeats}, {e.out()},
        options(BuiltinOptions::TileOptions, CreateTileOptions(e.fbb())));
  return {};
}

Status emit_expand(OpEmitter& e) {
  int32_t target = 0;
  if (e.op().output()->type().is_static()) {
    target = e.ints(e.op().output()->shape()->sizes());
  } else {
    EC_TRY(target, e.int32_operand(1));
  }
  e.add(Op::BROADCAST_TO, {e.in(0), target}, {e.out()},
        options(BuiltinOptions::BroadcastToOptions, CreateBroadcastToOptions(e.fbb())));
  return {};
}

Status emit_gather(OpEmitter& e) {
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<GatherAttrs>().axis, e.rank()));
  EC_TRY(const int32_t places, e.int32_operand(1));
  e.add(Op::GATHER, {e.in(0), places}, {e.out()},
        options(BuiltinOptions::GatherOptions, CreateGatherOptions(e.fbb(), axis)));
  return {};
}

Status emit_gather_nd(OpEmitter& e) {
  if (e.attrs<GatherNdAttrs>().batch_dims != 0) return e.fail("batch dimensions");
  EC_TRY(const int32_t places, e.int32_operand(1));
  e.add(Op::GATHER_ND, {e.in(0), places}, {e.out()},
        options(BuiltinOptions::GatherNdOptions, CreateGatherNdOptions(e.fbb())));
  return {};
}

// one_hot(indices, depth, values [off, on])
Status emit_one_hot(OpEmitter& e) {
  const auto depth = scalar_value(e.op().input(1));
  const ec::Tensor& values = e.input(2);
  if (!depth || !values.is_constant()) return e.fail("depth or values that are computed");
  const size_t rank = e.rank();
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<OneHotAttrs>().axis, rank + 1));
  const size_t size = element_size(values.dtype());
  const ec::TensorType type(values.dtype(), Shape{});
  const int32_t off = e.constant(type, values.data().slice(0, size));
  const int32_t on = e.constant(type, values.data().slice(size, size));
  EC_TRY(const int32_t places, e.int32_operand(0));
  e.add(Op::ONE_HOT, {places, e.int_scalar(static_cast<int64_t>(*depth)), on, off}, {e.out()},
        options(BuiltinOptions::OneHotOptions,
                CreateOneHotOptions(e.fbb(), axis == static_cast<int32_t>(rank) ? -1 : axis)));
  return {};
}

Status emit_range(OpEmitter& e) {
  e.add(Op::RANGE, e.inputs(), e.outputs(),
        options(BuiltinOptions::RangeOptions, CreateRangeOptions(e.fbb())));
  return {};
}

Status emit_fill(OpEmitter& e) {
  EC_TRY(const int32_t dims, e.int32_operand(0));
  e.add(Op::FILL, {dims, e.in(1)}, {e.out()},
        options(BuiltinOptions::FillOptions, CreateFillOptions(e.fbb())));
  return {};
}

Status emit_shape(OpEmitter& e) {
  const auto& attrs = e.attrs<ShapeAttrs>();
  if (attrs.start != 0 || attrs.end < static_cast<int64_t>(e.rank()))
    return e.fail("a part of the shape");
  e.add(Op::SHAPE, {e.in(0)}, {e.out()},
        options(BuiltinOptions::ShapeOptions,
                CreateShapeOptions(e.fbb(), *tensor_type(e.op().output()->dtype()))));
  return {};
}

Status emit_reverse_sequence(OpEmitter& e) {
  const auto& attrs = e.attrs<ReverseSequenceAttrs>();
  EC_TRY(const int32_t lengths, e.int32_operand(1));
  e.add(Op::REVERSE_SEQUENCE, {e.in(0), lengths}, {e.out()},
        options(BuiltinOptions::ReverseSequenceOptions,
                CreateReverseSequenceOptions(e.fbb(), static_cast<int32_t>(attrs.time_axis),
                                             static_cast<int32_t>(attrs.batch_axis))));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Identity, emit_reshape},
    {OpKind::Reshape, emit_reshape},
    {OpKind::Flatten, emit_reshape},
    {OpKind::Squeeze, emit_reshape},
    {OpKind::Unsqueeze, emit_reshape},
    {OpKind::Transpose, emit_transpose},
    {OpKind::Concat, emit_concat},
    {OpKind::Split, emit_split},
    {OpKind::Slice, emit_slice},
    {OpKind::Pad, emit_pad},
    {OpKind::Tile, emit_tile},
    {OpKind::Expand, emit_expand},
    {OpKind::Gather, emit_gather},
    {OpKind::GatherNd, emit_gather_nd},
    {OpKind::OneHot, emit_one_hot},
    {OpKind::Range, emit_range},
    {OpKind::Fill, emit_fill},
    {OpKind::Shape, emit_shape},
    {OpKind::ReverseSequence, emit_reverse_sequence},
};

}  // namespace

const std::span<const EmitRow> kEmitMovement = kRows;

}  // namespace ec::tflite
