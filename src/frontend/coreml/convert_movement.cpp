// Elements at other places: transposes, joins, splits, pads, blocks.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

Tensors transpose(OpCall& c) {
  Tensor* x = c.in("x");
  Ints perm = c.ints("perm");
  const int64_t dims = c.rank(x);
  for (int64_t& axis : perm) axis = c.axis(axis, dims);
  if (!c.ok() || static_cast<int64_t>(perm.size()) != dims)
    return {c.fail(Code::ShapeMismatch, "'perm' does not fit the operand")};
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return {c.add(OpKind::Transpose, {x}, attrs)};
}

// One element of each part in turn.
Tensor* interleave(OpCall& c, const Tensors& parts, int64_t axis) {
  Sizes sizes = c.sizes(parts[0]);
  sizes[static_cast<size_t>(axis)] =
      Size(c.size(parts[0], axis) * static_cast<int64_t>(parts.size()));
  return c.reshape(c.stack(parts, axis + 1), sizes);
}

Tensors concat(OpCall& c) {
  const Tensors parts = c.list("values");
  if (!c.ok() || parts.empty()) return {c.fail(Code::BadArity, "nothing to join")};
  const int64_t axis = c.axis_of(parts[0], "axis", 0);
  if (!c.ok()) return parts;
  if (c.flag("interleave", false) && parts.size() > 1) return {interleave(c, parts, axis)};
  return {c.concat(parts, axis)};
}

Tensors stack(OpCall& c) {
  const Tensors parts = c.list("values");
  if (!c.ok() || parts.empty()) return {c.fail(Code::BadArity, "nothing to join")};
  return {c.stack(parts, c.axis(c.integer("axis"), c.rank(parts[0]) + 1))};
}

Tensors split(OpCall& c) {
  Tensor* x = c.in("x");
  const int64_t axis = c.axis_of(x, "axis", 0);
  if (!c.has("split_sizes")) {
    const int64_t count = c.integer("num_splits");
    if (count != static_cast<int64_t>(c.num_outputs()))
      return {c.fail(Code::BadArity, "'num_splits' does not fit the results")};
    return c.split(x, axis, count);
  }
  const Ints sizes = c.ints("split_sizes");
  if (sizes.size() != c.num_outputs())
    return {c.fail(Code::BadArity, "'split_sizes' do not fit the results")};
  if (sizes.size() == 1) return {x};
  AxisAttrs attrs;
  attrs.axis = axis;
  return c.add_many(OpKind::Split, {x, c.int_list(sizes)}, attrs, sizes.size());
}

// `pad` lists begin and end for each of the last dimensions.
Tensors pad(OpCall& c) {
  Tensor* x = c.in("x");
  const std::string mode = c.text("mode", "constant");
  PadAttrs attrs;
  if (mode == "reflect")
    attrs.mode = PadMode::Reflect;
  else if (mode == "replicate")
    attrs.mode = PadMode::Edge;
  else if (mode != "constant")
    return {c.unsupported("pads of the mode '" + mode + "'")};
  Tensor* pads = c.as_i64(c.in("pad"));
  const int64_t count = c.size(pads, 0) / 2, dims = c.rank(x);
  if (!c.ok() || count > dims || c.size(pads, 0) % 2 != 0)
    return {c.fail(Code::ShapeMismatch, "'pad' does not fit the operand")};
  pads = c.reshape(c.transpose(c.reshape(pads, {count, 2}), {1, 0}), {2 * count});
  Ints axes;
  for (int64_t i = dims - count; i < dims; ++i) axes.push_back(i);
  Tensor* value = nullptr;
  if (attrs.mode == PadMode::Constant)
    value = c.cast(c.has("constant_val") ? c.in("constant_val") : c.like(x, 0), x->dtype());
  return {c.add(OpKind::Pad, {x, pads, value, c.int_list(axes)}, attrs)};
}

Tensors tile(OpCall& c) { return {c.add(OpKind::Tile, {c.in("x"), c.as_i64(c.in("reps"))})}; }

Tensors reverse(OpCall& c) {
  Tensor* x = c.in("x");
  ReverseAttrs attrs;
  attrs.axes = c.axes_of(x, "axes");
  return {c.add(OpKind::Reverse, {x}, attrs)};
}

Tensors reverse_sequence(OpCall& c) {
  Tensor* x = c.in("x");
  ReverseSequenceAttrs attrs;
  attrs.time_axis = c.axis_of(x, "seq_axis", 0);
  attrs.batch_axis = c.axis_of(x, "batch_axis", 0);
  return {c.add(OpKind::ReverseSequence, {x, c.as_i64(c.in("lengths"))}, attrs)};
}

template <DepthOrder kOrder>
Tensors depth_to_space(OpCall& c) {
  DepthToSpaceAttrs attrs;
  attrs.block = c.integer(kOrder == DepthOrder::Dcr ? "block_size" : "upscale_factor");
  attrs.order = kOrder;
  return {c.add(OpKind::DepthToSpace, {c.in("x")}, attrs)};
}

template <DepthOrder kOrder>
Tensors space_to_depth(OpCall& c) {
  SpaceToDepthAttrs attrs;
  attrs.block = c.integer(kOrder == DepthOrder::Dcr ? "block_size" : "downscale_factor");
  attrs.order = kOrder;
  return {c.add(OpKind::SpaceToDepth, {c.in("x")}, attrs)};
}

// The IR's blocks lie in images with the channels last.
template <OpKind kKind>
Tensors batch_blocks(OpCall& c) {
  const std::string_view border = kKind == OpKind::SpaceToBatch ? "paddings" : "crops";
  Tensor* x = c.in("x");
  const int64_t dims = c.rank(x);
  if (dims < 3) return {c.fail(Code::ShapeMismatch, "the operand is no image")};
  Ints last = {0};
  for (int64_t i = 2; i < dims; ++i) last.push_back(i);
  last.push_back(1);
  Ints first = {0, dims - 1};
  for (int64_t i = 1; i + 1 < dims; ++i) first.push_back(i);
  Tensor* block = c.cast(c.in("block_shape"), DType::I64);
  Tensor* around = c.cast(c.in(border), DType::I64);
  return {c.transpose(c.add(kKind, {c.transpose(x, last), block, around}), first)};
}

// Windows along one axis, each a row of its own behind it.
Tensors sliding_windows(OpCall& c) {
  Tensor* x = c.in("x");
  const int64_t axis = c.axis_of(x, "axis", 0), size = c.integer("size"),
                stride = c.integer("stride", 1), whole = c.size(x, axis);
  if (!c.ok() || size < 1 || stride < 1 || size > whole || whole > (1 << 20))
    return {c.fail(Code::BadValue, "the windows do not fit the operand")};
  const int64_t count = (whole - size) / stride + 1;
  if (!c.afford(count * size)) return {x};
  Ints places;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) places.push_back(i * stride + k);
  Tensor* indices = c.reshape(c.int_list(places), {count, size});
  return {c.gather(x, indices, axis)};
}

// A band around the diagonal of the last two dimensions.
Tensors band_part(OpCall& c) {
  Tensor* x = c.in("x");
  const int64_t lower = c.integer("lower", -1), upper = c.integer("upper", -1);
  const auto cut = [&](Tensor* y, bool keep_upper, int64_t k) {
    TriluAttrs attrs;
    attrs.upper = keep_upper;
    return c.add(OpKind::Trilu, {y, c.scalar(DType::I64, static_cast<double>(k))}, attrs);
  };
  Tensor* y = x;
  if (lower >= 0) y = cut(y, true, -lower);
  if (upper >= 0) y = cut(y, false, upper);
  return {y};
}

constexpr OpRow kRows[] = {
    {"transpose", kIos15, "x perm", transpose},
    {"concat", kIos15, "values axis interleave?", concat},
    {"stack", kIos15, "values axis", stack},
    {"split", kIos15, "x axis num_splits? split_sizes?", split},
    {"pad", kIos15, "x pad mode? constant_val?", pad},
    {"tile", kIos15, "x reps", tile},
    {"reverse", kIos15, "x axes?", reverse},
    {"reverse_sequence", kIos15, "x lengths seq_axis? batch_axis?", reverse_sequence},
    {"depth_to_space", kIos15, "x block_size", depth_to_space<DepthOrder::Dcr>},
    {"pixel_shuffle", kIos15, "x upscale_factor", depth_to_space<DepthOrder::Crd>},
    {"space_to_depth", kIos15, "x block_size", space_to_depth<DepthOrder::Dcr>},
    {"pixel_unshuffle", kIos16, "x downscale_factor", space_to_depth<DepthOrder::Crd>},
    {"space_to_batch", kIos15, "x block_shape paddings", batch_blocks<OpKind::SpaceToBatch>},
    {"batch_to_space", kIos15, "x block_shape crops", batch_blocks<OpKind::BatchToSpace>},
    {"sliding_windows", kIos15, "x axis size stride?", sliding_windows},
    {"band_part", kIos15, "x lower? upper?", band_part},
};

}  // namespace

const std::span<const OpRow> kMovementRows = kRows;

}  // namespace ec::mil
