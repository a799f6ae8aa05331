// Data movement: transposing, joining, cutting, padding, repeating.
#include <algorithm>

#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status transpose(NodeContext& ctx) {
  TransposeAttrs attrs;
  attrs.perm = ctx.attr_ints("perm");
  if (!ctx.has_attr("perm") && ctx.in(0)->shape()) {
    for (size_t i = ctx.in(0)->shape()->rank(); i-- > 0;)
      attrs.perm.push_back(static_cast<int64_t>(i));
  }
  return ctx.finish(OpKind::Transpose, {ctx.in(0)}, attrs);
}

Status concat(NodeContext& ctx) {
  AxisAttrs attrs;
  // The first version joins channels by default; later ones always say the axis.
  attrs.axis = ctx.version() < 4 ? ctx.attr_int("axis", 1) : ctx.attr_int("axis");
  for (size_t i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
  return ctx.finish(OpKind::Concat, ctx.tensors(), attrs);
}

Status split_to(NodeContext& ctx, ec::Tensor* sizes) {
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 0);
  const size_t parts = ctx.node().outputs.size();
  if (ctx.has_attr("num_outputs") && ctx.attr_int("num_outputs") != static_cast<int64_t>(parts))
    return ctx.fail(Code::BadArity, "attribute 'num_outputs' is " +
                                        std::to_string(ctx.attr_int("num_outputs")) +
                                        ", the node has " + std::to_string(parts) + " outputs");
  EC_TRY(Operation * op, ctx.add_op(OpKind::Split, {ctx.in(0), sizes}, attrs, parts));
  for (size_t i = 0; i < parts; ++i) ctx.set(i, op->output(i));
  return {};
}

Status split_by_attribute(NodeContext& ctx) {
  const std::vector<int64_t> sizes = ctx.attr_ints("split");
  // Version 1 also took the sizes as an input.
  ec::Tensor* given = ctx.in(1);
  return split_to(ctx, given != nullptr ? given : sizes.empty() ? nullptr : ctx.ints(sizes));
}
Status split(NodeContext& ctx) { return split_to(ctx, ctx.in(1)); }

Status slice_by_attributes(NodeContext& ctx) {
  const std::vector<int64_t> starts = ctx.attr_ints("starts"), ends = ctx.attr_ints("ends"),
                             axes = ctx.attr_ints("axes");
  if (!ctx.has_attr("starts") || !ctx.has_attr("ends"))
    return ctx.fail(Code::BadAttribute, "attribute 'starts' or 'ends' is missing");
  return ctx.finish(OpKind::Slice, {ctx.in(0), ctx.ints(starts), ctx.ints(ends),
                                    axes.empty() ? nullptr : ctx.ints(axes)});
}

Status pad_by_attributes(NodeContext& ctx) {
  PadAttrs attrs;
  attrs.mode = ctx.attr_enum("mode", PadMode::Constant);
  const std::string_view name = ctx.version() < 2 ? "paddings" : "pads";
  const std::vector<int64_t> pads = ctx.attr_ints(name);
  if (!ctx.has_attr(name))
    return ctx.fail(Code::BadAttribute, "attribute '" + std::string(name) + "' is missing");
  const float value = ctx.attr_float("value", 0.0f);
  return ctx.finish(OpKind::Pad, {ctx.in(0), ctx.ints(pads), ctx.scalar(ctx.dtype(), value)},
                    attrs);
}

Status pad(NodeContext& ctx) {
  PadAttrs attrs;
  attrs.mode = ctx.attr_enum("mode", PadMode::Constant);
  return ctx.finish(OpKind::Pad, ctx.tensors(), attrs);
}

// tile(x, tiles, axis): scalars as tensors.
Status tile_along_axis(NodeContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank(0));
  EC_TRY(const std::vector<int64_t> tiles, ctx.need_ints(1, "tiles"));
  EC_TRY(const std::vector<int64_t> axis, ctx.need_ints(2, "axis"));
  std::vector<int64_t> repeats(rank, 1);
  if (tiles.size() != 1 || axis.size() != 1 || axis[0] < 0 || axis[0] >= static_cast<int64_t>(rank))
    return ctx.fail(Code::BadValue, "inputs 'tiles' and 'axis' have to be one number each");
  repeats[static_cast<size_t>(axis[0])] = tiles[0];
  return ctx.finish(OpKind::Tile, {ctx.in(0), ctx.ints(repeats)});
}

Status trilu(NodeContext& ctx) {
  TriluAttrs attrs;
  attrs.upper = ctx.attr_bool("upper", true);
  return ctx.finish(OpKind::Trilu, ctx.tensors(), attrs);
}

Status reverse_sequence(NodeContext& ctx) {
  ReverseSequenceAttrs attrs;
  attrs.batch_axis = ctx.attr_int("batch_axis", 1);
  attrs.time_axis = ctx.attr_int("time_axis", 0);
  return ctx.finish(OpKind::ReverseSequence, ctx.tensors(), attrs);
}

Status center_crop_pad(NodeContext& ctx) {
  CenterCropPadAttrs attrs;
  attrs.axes = ctx.attr_ints("axes");
  return ctx.finish(OpKind::CenterCropPad, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, kAny{1, kMany};

constexpr OpRow kRows[] = {
    {"Transpose", 1, kLatest, k1, k1, transpose},
    {"Concat", 1, kLatest, kAny, k1, concat},
    {"Split", 1, 1, {1, 2}, kAny, split_by_attribute},
    {"Split", 2, 12, k1, kAny, split_by_attribute},
    {"Split", 13, kLatest, {1, 2}, kAny, split},
    {"Slice", 1, 9, k1, k1, slice_by_attributes},
    {"Slice", 10, kLatest, {3, 5}, k1, direct<OpKind::Slice>},
    {"Pad", 1, 10, k1, k1, pad_by_attributes},
    {"Pad", 11, 17, {2, 3}, k1, pad},
    {"Pad", 18, kLatest, {2, 4}, k1, pad},
    {"Tile", 1, 5, {3, 3}, k1, tile_along_axis},
    {"Tile", 6, kLatest, k2, k1, direct<OpKind::Tile>},
    {"Trilu", 14, kLatest, {1, 2}, k1, trilu},
    {"ReverseSequence", 10, kLatest, k2, k1, reverse_sequence},
    {"CenterCropPad", 18, kLatest, k2, k1, center_crop_pad},
};

}  // namespace

const std::span<const OpRow> kMovementRows = kRows;

}  // namespace ec::onnx
