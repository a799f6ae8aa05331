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
  const bool computed = e.op().kind() == OpKind::Reshape && !int_values(e.op().input(1));
  if (computed) {
    EC_TRY(const int32_t target, e.int32_operand(1));
    e.add(Op::RESHAPE, {e.in(0), target}, {e.out()});
    return {};
  }
  // Beside an empty dimension -1 could stand for any size.
  const bool is_empty = std::ranges::find(sizes, 0) != sizes.end();
  if (!shape || open > 1 || (open == 1 && is_empty)) return e.require_static(*e.op().output());
  // A shape without dimensions would be a constant without elements, which runtimes take for a
  // tensor that is not there yet.
  if (sizes.empty()) {
    e.add(Op::SQUEEZE, {e.in(0)}, {e.out()},
          options(BuiltinOptions::SqueezeOptions, CreateSqueezeOptions(e.fbb())));
    return {};
  }
  const std::vector<int32_t> narrow(sizes.begin(), sizes.end());
  const int32_t target = e.ints(sizes);
  e.add(Op::RESHAPE, {e.in(0), target}, {e.out()},
        options(BuiltinOptions::ReshapeOptions,
                CreateReshapeOptions(e.fbb(), e.fbb().CreateVector(narrow))));
  return {};
}

Status emit_squeeze(OpEmitter& e) {
  const auto axes = int_values(e.op().input(1));
  const auto& shape = e.input(0).shape();
  if ((e.has(1) && !axes) || !shape) return emit_reshape(e);
  std::vector<int32_t> dims;
  if (axes) {
    for (const int64_t axis : *axes)
      dims.push_back(static_cast<int32_t>(positive_axis(axis, shape->rank())));
  } else {
    for (size_t d = 0; d < shape->rank(); ++d)
      if ((*shape)[d].is_static() && (*shape)[d].size() == 1)
        dims.push_back(static_cast<int32_t>(d));
  }
  e.add(Op::SQUEEZE, {e.in(0)}, {e.out()},
        options(BuiltinOptions::SqueezeOptions,
                CreateSqueezeOptions(e.fbb(), e.fbb().CreateVector(dims))));
  return {};
}

// New dimensions as a slice that takes everything.
Status emit_new_axes(OpEmitter& e, std::span<const int64_t> axes) {
  const size_t rank = e.op().output()->shape()->rank();
  int32_t added = 0;
  for (const int64_t axis : axes) added |= 1 << positive_axis(axis, rank);
  const std::vector<int64_t> zeros(rank, 0), ones(rank, 1);
  const int32_t whole = ((1 << rank) - 1) & ~added;
  const int32_t bounds = e.ints(zeros), steps = e.ints(ones);
  e.add(Op::STRIDED_SLICE, {e.in(0), bounds, bounds, steps}, {e.out()},
        options(BuiltinOptions::StridedSliceOptions,
                CreateStridedSliceOptions(e.fbb(), whole, whole, 0, added)));
  return {};
}

// A copy; a slice that takes everything comes as one, too.
Status emit_identity(OpEmitter& e) {
  const std::optional<Shape>& shape = e.op().output()->shape();
  const bool slice = e.op().location().op_type == builtin_name(Op::STRIDED_SLICE);
  return slice && shape && shape->rank() <= 5 ? emit_new_axes(e, {}) : emit_reshape(e);
}

Status emit_unsqueeze(OpEmitter& e) {
  const auto axes = int_values(e.op().input(1));
  if (axes && e.op().location().op_type == builtin_name(Op::STRIDED_SLICE) &&
      e.op().output()->shape() && e.op().output()->shape()->rank() <= 5)
    return emit_new_axes(e, *axes);
  if (!axes || axes->size() != 1) return emit_reshape(e);
  e.add(Op::EXPAND_DIMS, {e.in(0), e.int_scalar((*axes)[0])}, {e.out()},
        options(BuiltinOptions::ExpandDimsOptions, CreateExpandDimsOptions(e.fbb())));
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

// Operands without the dimension that they are stacked along.
Status emit_pack(OpEmitter& e, int32_t axis) {
  std::vector<int32_t> parts;
  for (size_t i = 0; i < e.op().inputs().size(); ++i) {
    if (!e.input(i).is_constant()) {
      parts.push_back(e.in(i));
      continue;
    }
    ec::TensorType type = e.input(i).type();
    type.shape->dims().erase(type.shape->dims().begin() + axis);
    parts.push_back(e.constant(std::move(type), e.input(i).raw_data()));
  }
  const auto count = static_cast<int32_t>(parts.size());
  e.add(Op::PACK, std::move(parts), e.outputs(),
        options(BuiltinOptions::PackOptions, CreatePackOptions(e.fbb(), count, axis)));
  return {};
}

Status emit_concat(OpEmitter& e) {
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<AxisAttrs>().axis, e.rank()));
  if (is_pack(e.op())) return emit_pack(e, axis);
  e.add(Op::CONCATENATION, e.inputs(), e.outputs(),
        options(BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(e.fbb(), axis)));
  return {};
}

// The readers that drop the split dimension, which has size 1 in every result; empty unless all do.
std::vector<const Operation*> dropped_axis(OpEmitter& e, int64_t axis) {
  std::vector<const Operation*> drops;
  for (const ec::Tensor* part : e.op().outputs()) {
    const Operation* drop = e.graph().only_reader(part, OpKind::Squeeze);
    const auto axes = drop != nullptr ? int_values(drop->input(1)) : std::nullopt;
    if (!axes || axes->size() != 1 || positive_axis((*axes)[0], e.rank()) != axis) return {};
    drops.push_back(drop);
  }
  return drops;
}

Status emit_split(OpEmitter& e) {
  const int64_t axis = positive_axis(e.attrs<AxisAttrs>().axis, e.rank());
  const auto parts = static_cast<int32_t>(e.op().outputs().size());
  if (const auto drops = dropped_axis(e, axis); !drops.empty()) {
    std::vector<int32_t> results;
    for (const Operation* drop : drops) {
      e.graph().take_along(drop);
      results.push_back(e.graph().tensor(drop->output()));
    }
    e.add(Op::UNPACK, {e.in(0)}, std::move(results),
          options(BuiltinOptions::UnpackOptions,
                  CreateUnpackOptions(e.fbb(), parts, static_cast<int32_t>(axis))));
    return {};
  }
  std::vector<int64_t> sizes;
  for (const ec::Tensor* output : e.op().outputs()) {
    const Dim dim = (*output->shape())[static_cast<size_t>(axis)];
    if (!dim.is_static()) return e.require_static(*output);
    sizes.push_back(dim.size());
  }
  const bool equal =
      std::all_of(sizes.begin(), sizes.end(), [&](int64_t s) { return s == sizes[0]; });
  if (equal && (!e.has(1) || e.op().location().op_type != builtin_name(Op::SPLIT_V)))
    e.add(Op::SPLIT, {e.int_scalar(axis), e.in(0)}, e.outputs(),
          options(BuiltinOptions::SplitOptions, CreateSplitOptions(e.fbb(), parts)));
  else
    e.add(Op::SPLIT_V, {e.in(0), e.ints(sizes), e.int_scalar(axis)}, e.outputs(),
          options(BuiltinOptions::SplitVOptions, CreateSplitVOptions(e.fbb(), parts)));
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
  const auto rank = static_cast<int64_t>(e.rank());
  const auto clamped = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t begin = clamped(attrs.start), end = std::max(begin, clamped(attrs.end));
  const ec::Tensor* result = e.cast_result(0, {DType::I32, DType::I64});
  const TensorType type = *tensor_type(result->dtype());
  const Options opts = options(BuiltinOptions::ShapeOptions, CreateShapeOptions(e.fbb(), type));
  const int32_t target = e.graph().tensor(result);
  if (begin == 0 && end == rank) return e.add(Op::SHAPE, {e.in(0)}, {target}, opts), ok_status();
  const int32_t all =
      e.step(Op::SHAPE, {e.in(0)}, ec::TensorType(result->dtype(), Shape{Dim(rank)}), opts);
  const int64_t first[] = {begin}, count[] = {end - begin};
  const int32_t from = e.ints(first), size = e.ints(count);
  e.add(Op::SLICE, {all, from, size}, {target},
        options(BuiltinOptions::SliceOptions, CreateSliceOptions(e.fbb())));
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
    {OpKind::Identity, emit_identity},   {OpKind::Reshape, emit_reshape},
    {OpKind::Flatten, emit_reshape},     {OpKind::Squeeze, emit_squeeze},
    {OpKind::Unsqueeze, emit_unsqueeze}, {OpKind::Transpose, emit_transpose},
    {OpKind::Concat, emit_concat},       {OpKind::Split, emit_split},
    {OpKind::Tile, emit_tile},           {OpKind::Expand, emit_expand},
    {OpKind::Range, emit_range},         {OpKind::Fill, emit_fill},
    {OpKind::Shape, emit_shape},         {OpKind::ReverseSequence, emit_reverse_sequence},
};

}  // namespace

const std::span<const EmitRow> kEmitMovement = kRows;

}  // namespace ec::tflite
