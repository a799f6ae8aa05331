// Views, transposes, slices, pads, concats: elements that only move.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/convert.h"
#include "writer/coreml/emitter.h"
#include "writer/coreml/interleave.h"
#include "writer/coreml/sizes.h"

namespace ec::mil {
namespace {

// The sizes of a view: known ones, -1 for one that is open. Nothing where more are open.
std::optional<std::vector<int64_t>> view_sizes(const std::vector<int64_t>& dims) {
  if (std::ranges::count(dims, coreml::kUnknownSize) > 1) return std::nullopt;
  return dims;  // kUnknownSize is the -1 of reshape
}

// A view with several open sizes: sizes of the operand, numbers, and -1 for what is left.
Status emit_open_view(OpEmitter& e) {
  const auto refuse = [&] {
    return e.fail("a view with several open sizes", "fix the sizes with --input-shape");
  };
  SizeList sizes(e);
  const auto rank = static_cast<int64_t>(e.rank());
  if (e.op().kind() == OpKind::Reshape) {
    const auto target = int_values(e.input(1));
    if (!target) {
      e.emit("reshape", {{"x", e.in(0)}, {"shape", e.in(1)}});
      return {};
    }
    for (size_t i = 0; i < target->size(); ++i)
      if ((*target)[i] != 0)
        sizes.add((*target)[i]);
      else
        sizes.add_input(0, static_cast<int64_t>(i));
  } else if (e.op().kind() == OpKind::Flatten) {
    const int64_t axis = e.axis(e.attrs<FlattenAttrs>().axis);
    if (axis > 1 && axis + 1 < rank) return refuse();
    if (axis == 1)
      sizes.add_input(0, 0);
    else
      sizes.add(axis == 0 ? 1 : -1);
    if (axis <= 1)
      sizes.add(-1);
    else if (axis == rank)
      sizes.add(1);
    else
      sizes.add_input(0, rank - 1);
  } else {
    return refuse();
  }
  e.emit("reshape", {{"x", e.in(0)}, {"shape", std::move(sizes).take()}});
  return {};
}

Status emit_view(OpEmitter& e) {
  const ValueType type = type_of(e.op().output());
  if (!type.variadic) {
    if (const auto sizes = view_sizes(type.dims)) {
      e.emit("reshape", {{"x", e.in(0)}, {"shape", e.ints(*sizes)}});
      return {};
    }
  }
  return emit_open_view(e);
}

std::vector<int64_t> axes_of(const OpEmitter& e, const std::vector<int64_t>& given, size_t rank) {
  std::vector<int64_t> axes;
  for (const int64_t axis : given)
    axes.push_back(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  std::ranges::sort(axes);
  (void)e;
  return axes;
}

Status emit_unsqueeze(OpEmitter& e) {
  const auto axes = int_values(e.input(1));
  if (!axes || !e.op().output()->shape()) return emit_view(e);
  e.emit("expand_dims",
         {{"x", e.in(0)}, {"axes", e.ints(axes_of(e, *axes, e.op().output()->shape()->rank()))}});
  return {};
}

Status emit_squeeze(OpEmitter& e) {
  const auto axes = e.has(1) ? int_values(e.input(1)) : std::nullopt;
  if (!axes || axes->empty()) return emit_view(e);
  e.emit("squeeze", {{"x", e.in(0)}, {"axes", e.ints(axes_of(e, *axes, e.rank()))}});
  return {};
}

Status emit_transpose(OpEmitter& e) {
  std::vector<int64_t> perm = e.attrs<TransposeAttrs>().perm;
  if (perm.empty()) {
    perm.resize(e.rank());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  e.emit("transpose", {{"x", e.in(0)}, {"perm", e.ints(perm)}});
  return {};
}

Status emit_plain_concat(OpEmitter& e) {
  emit_concat(e, e.op(), false);
  return {};
}

Status emit_split(OpEmitter& e) {
  const auto axis = e.axis(e.attrs<AxisAttrs>().axis);
  std::vector<int64_t> sizes;
  for (const Tensor* output : e.op().outputs()) {
    const int64_t size = e.sizes(output)[static_cast<size_t>(axis)];
    if (size == coreml::kUnknownSize)
      return e.fail("pieces of open sizes", "fix the sizes with --input-shape");
    sizes.push_back(size);
  }
  e.emit("split", {{"x", e.in(0)}, {"axis", e.i32(axis)}, {"split_sizes", e.ints(sizes)}});
  return {};
}

// --- slices --------------------------------------------------------------------------------------

struct Slices {
  std::vector<int64_t> begin, end, stride;
  std::vector<bool> begin_mask, end_mask;
};

// One axis of a slice. Bounds beyond the axis become "all of it" (the masks).
void set_axis(Slices& s, size_t axis, int64_t start, int64_t end, int64_t step, int64_t size) {
  s.stride[axis] = step;
  const bool known = size != coreml::kUnknownSize;
  const auto place = [&](int64_t at) { return at < 0 && known ? at + size : at; };
  if (step > 0) {
    start = place(start);
    end = place(end);
    s.begin_mask[axis] = start <= 0 && known;
    s.end_mask[axis] = known ? end >= size : end >= std::numeric_limits<int32_t>::max();
  } else {
    // To before the first element: no number says so, as -1 is the last one.
    constexpr int64_t kFarthest = std::numeric_limits<int32_t>::max();
    if (!known) {
      s.begin_mask[axis] = start == -1 || start >= kFarthest;
      s.end_mask[axis] = end <= -kFarthest;
      s.begin[axis] = s.begin_mask[axis] ? 0 : start;
      s.end[axis] = s.end_mask[axis] ? 0 : end;
      return;
    }
    start = known ? std::max<int64_t>(place(start), 0) : start;
    s.begin_mask[axis] = known && start >= size - 1;
    const int64_t stop = end < 0 && known ? end + size : end;
    s.end_mask[axis] = known && stop < 0;
    end = stop;
  }
  s.begin[axis] = s.begin_mask[axis] ? 0 : start;
  s.end[axis] = s.end_mask[axis] ? 0 : end;
}

bool any(const std::vector<bool>& flags) { return std::ranges::find(flags, true) != flags.end(); }

// An end behind an open size would be behind the last element: the smaller of both.
std::string ends_of(OpEmitter& e, const Slices& s) {
  const std::vector<int64_t> sizes = e.sizes(e.input(0));
  std::vector<int64_t> bounds(s.end.size(), std::numeric_limits<int32_t>::max());
  bool open = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool cut =
        sizes[d] == coreml::kUnknownSize && s.stride[d] > 0 && !s.end_mask[d] && s.end[d] > 0;
    open = open || cut;
    if (cut) bounds[d] = s.end[d];
  }
  if (!open) return e.ints(s.end);
  const auto rank = static_cast<int64_t>(sizes.size());
  const ValueType list = ValueType::tensor(DataType::Int32, {rank});
  const std::string within =
      e.step("minimum", {{"x", shape_of(e, e.in(0), sizes.size())}, {"y", e.ints(bounds)}}, list);
  SizeList ends(e);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (bounds[d] == s.end[d])
      ends.add_element(within, static_cast<int64_t>(d));
    else
      ends.add(s.end[d]);
  return std::move(ends).take();
}

void emit_slices(OpEmitter& e, const Slices& s, std::string begin, std::string end) {
  std::vector<Arg> args{{"x", e.in(0)}, {"begin", std::move(begin)}, {"end", std::move(end)}};
  if (std::ranges::any_of(s.stride, [](int64_t step) { return step != 1; }))
    args.emplace_back("stride", e.ints(s.stride));
  if (any(s.begin_mask)) args.emplace_back("begin_mask", e.flags(s.begin_mask));
  if (any(s.end_mask)) args.emplace_back("end_mask", e.flags(s.end_mask));
  e.emit("slice_by_index", std::move(args));
}

// Bounds of the axes, which the program computes, among those of axes that stay whole.
Status emit_computed_slice(OpEmitter& e, const std::vector<int64_t>& axes,
                           const std::vector<int64_t>& steps, Slices& s) {
  const auto starts = int_values(e.input(1)), ends = int_values(e.input(2));
  SizeList begin(e), end(e);
  const auto add = [&](SizeList& list, const std::optional<std::vector<int64_t>>& known,
                       size_t input, size_t i) {
    if (known)
      list.add((*known)[i]);
    else
      list.add_element(e.in(input), static_cast<int64_t>(i));
  };
  for (size_t d = 0; d < s.begin.size(); ++d) {
    size_t i = 0;
    while (i < axes.size() && static_cast<size_t>(e.axis(axes[i])) != d) ++i;
    if (i == axes.size()) {
      begin.add(0);
      end.add(0);
      continue;
    }
    if (steps[i] < 0)
      return e.fail("bounds that are computed, backwards",
                    "export the model with constant bounds, or fix its sizes");
    s.stride[d] = steps[i];
    s.begin_mask[d] = starts && (*starts)[i] == 0;
    s.end_mask[d] = ends && (*ends)[i] >= std::numeric_limits<int32_t>::max();
    add(begin, starts, 1, i);
    add(end, ends, 2, i);
  }
  emit_slices(e, s, std::move(begin).take(), std::move(end).take());
  return {};
}

Status emit_slice(OpEmitter& e) {
  const auto starts = int_values(e.input(1)), ends = int_values(e.input(2));
  const auto count = static_cast<size_t>(e.input(1)->type().num_elements().value_or(0));
  const size_t rank = e.rank();
  if ((!starts || !ends) && (count == 0 || count > rank))
    return e.fail("bounds that are computed, and not how many",
                  "export the model with constant bounds, or fix its sizes");
  std::vector<int64_t> axes(count), steps(count, 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (e.has(3)) {
    const auto given = int_values(e.input(3));
    if (!given) return e.fail("axes that are computed");
    axes = *given;
  }
  if (e.has(4)) {
    const auto given = int_values(e.input(4));
    if (!given) return e.fail("steps that are computed");
    steps = *given;
  }
  Slices s;
  s.begin.assign(rank, 0);
  s.end.assign(rank, 0);
  s.stride.assign(rank, 1);
  s.begin_mask.assign(rank, true);
  s.end_mask.assign(rank, true);
  if (!starts || !ends) return emit_computed_slice(e, axes, steps, s);
  const std::vector<int64_t> sizes = e.sizes(e.input(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(e.axis(axes[i]));
    set_axis(s, axis, (*starts)[i], (*ends)[i], steps[i], sizes[axis]);
  }
  emit_slices(e, s, e.ints(s.begin), ends_of(e, s));
  return {};
}

// --- pads, repeats -------------------------------------------------------------------------------

// Pads as [begin, end] of each axis.
std::optional<std::vector<int64_t>> pads_by_axis(const OpEmitter& e) {
  const auto pads = int_values(e.input(1));
  if (!pads) return std::nullopt;
  std::vector<int64_t> axes(pads->size() / 2);
  std::iota(axes.begin(), axes.end(), 0);
  if (e.has(3)) {
    const auto given = int_values(e.input(3));
    if (!given) return std::nullopt;
    axes = *given;
  }
  std::vector<int64_t> result(2 * e.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(e.axis(axes[i]));
    result[2 * axis] = (*pads)[i];
    result[2 * axis + 1] = (*pads)[i + axes.size()];
  }
  return result;
}

// Pads of all axes that the program computes: begin and end of each in turn.
Status emit_computed_pad(OpEmitter& e) {
  const auto rank = static_cast<int64_t>(e.rank());
  const auto value = e.has(2) ? scalar_value(e.input(2)) : std::optional<double>(0);
  if (e.has(3) || !value || !e.is_float_input() || e.input(1)->type().num_elements() != 2 * rank ||
      e.attrs<PadAttrs>().mode != PadMode::Constant)
    return e.fail("pads that are computed", "export the model with constant pads");
  const auto list = [](std::vector<int64_t> sizes) {
    return ValueType::tensor(DataType::Int32, std::move(sizes));
  };
  const std::string table =
      e.step("reshape", {{"x", e.in(1)}, {"shape", e.ints({2, rank})}}, list({2, rank}));
  const std::string pairs =
      e.step("transpose", {{"x", table}, {"perm", e.ints({1, 0})}}, list({rank, 2}));
  const std::string flat =
      e.step("reshape", {{"x", pairs}, {"shape", e.ints({2 * rank})}}, list({2 * rank}));
  e.emit("pad", {{"x", e.in(0)},
                 {"pad", flat},
                 {"mode", e.text("constant")},
                 {"constant_val", e.real(*value)}});
  return {};
}

Status emit_pad(OpEmitter& e) {
  const auto pads = pads_by_axis(e);
  if (!pads) return emit_computed_pad(e);
  if (std::ranges::any_of(*pads, [](int64_t pad) { return pad < 0; }))
    return e.fail("negative pads", std::string(kPipelineHint));
  if (!e.is_float_input()) return e.fail("pads of integers", std::string(kPipelineHint));
  const PadMode mode = e.attrs<PadAttrs>().mode;
  if (mode == PadMode::Wrap) return e.fail("pads that wrap around", std::string(kPipelineHint));
  size_t first = 0;  // axes in front that are not padded are left out
  while (first + 2 < pads->size() && (*pads)[first] == 0 && (*pads)[first + 1] == 0) first += 2;
  double value = 0;
  if (mode == PadMode::Constant && e.has(2)) {
    const auto given = scalar_value(e.input(2));
    if (!given) return e.fail("a padded value that is computed");
    value = *given;
  } else if (mode != PadMode::Constant && pads->size() - first > 4) {
    return e.fail("repeating pads beyond the last two dimensions", std::string(kPipelineHint));
  }
  constexpr std::string_view kModes[] = {"constant", "reflect", "replicate"};
  e.emit("pad", {{"x", e.in(0)},
                 {"pad", e.ints(std::span(*pads).subspan(first))},
                 {"mode", e.text(kModes[static_cast<size_t>(mode)])},
                 {"constant_val", e.real(value)}});
  return {};
}

Status emit_tile(OpEmitter& e) {
  const auto repeats = int_values(e.input(1));
  e.emit("tile", {{"x", e.in(0)}, {"reps", repeats ? e.exact_ints(*repeats) : e.in(1)}});
  return {};
}

Status emit_reverse(OpEmitter& e) {
  std::vector<int64_t> axes;
  for (const int64_t axis : e.attrs<ReverseAttrs>().axes) axes.push_back(e.axis(axis));
  e.emit("reverse", {{"x", e.in(0)}, {"axes", e.ints(axes)}});
  return {};
}

Status emit_reverse_sequence(OpEmitter& e) {
  const auto& attrs = e.attrs<ReverseSequenceAttrs>();
  e.emit("reverse_sequence", {{"x", e.in(0)},
                              {"lengths", e.in(1)},
                              {"seq_axis", e.i32(e.axis(attrs.time_axis))},
                              {"batch_axis", e.i32(e.axis(attrs.batch_axis))}});
  return {};
}

// --- sizes ---------------------------------------------------------------------------------------

Status emit_shape(OpEmitter& e) {
  const auto& attrs = e.attrs<ShapeAttrs>();
  const auto rank = static_cast<int64_t>(e.rank());
  const auto bound = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t begin = bound(attrs.start), end = bound(attrs.end);
  if (begin == 0 && end == rank) {
    e.emit("shape", {{"x", e.in(0)}});
    return {};
  }
  const std::string all =
      e.step("shape", {{"x", e.in(0)}}, ValueType::tensor(DataType::Int32, {rank}));
  e.emit("slice_by_size",
         {{"x", all}, {"begin", e.ints({begin})}, {"size", e.ints({end - begin})}});
  return {};
}

Status emit_size(OpEmitter& e) {
  const std::string all =
      e.step("shape", {{"x", e.in(0)}},
             ValueType::tensor(DataType::Int32, {static_cast<int64_t>(e.rank())}));
  e.emit("reduce_prod", {{"x", all}, {"keep_dims", e.flag(false)}});
  return {};
}

Status emit_range(OpEmitter& e) {
  e.emit("range_1d", {{"start", e.in(0)}, {"end", e.in(1)}, {"step", e.in(2)}});
  return {};
}

Status emit_fill(OpEmitter& e) {
  const auto value = scalar_value(e.input(1));
  if (!value) return e.fail("a value that is computed", std::string(kPipelineHint));
  const DataType type = type_of(e.op().output()).element;
  std::string number = type == DataType::Bool    ? e.flag(*value != 0)
                       : type == DataType::Int32 ? e.i32(saturate_to_int64(*value))
                                                 : e.real(*value, type);
  e.emit("fill", {{"shape", e.in(0)}, {"value", std::move(number)}});
  return {};
}

// --- bands ---------------------------------------------------------------------------------------

Status emit_trilu(OpEmitter& e) {
  const auto offset = e.has(1) ? scalar_value(e.input(1)) : std::optional<double>(0);
  if (!offset || !e.is_float_input())
    return e.fail("a diagonal that is computed", std::string(kPipelineHint));
  // Bands that reach beyond 32 bits reach beyond every tensor.
  constexpr double kFarthest = std::numeric_limits<int32_t>::max();
  const auto k = static_cast<int64_t>(std::clamp(*offset, -kFarthest, kFarthest));
  const bool upper = e.attrs<TriluAttrs>().upper;
  // A band includes the main diagonal.
  if (upper ? k > 0 : k < 0)
    return e.fail("a triangle without the main diagonal", std::string(kPipelineHint));
  e.emit("band_part",
         {{"x", e.in(0)}, {"lower", e.i32(upper ? -k : -1)}, {"upper", e.i32(upper ? -1 : k)}});
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Reshape, emit_view},
    {OpKind::Flatten, emit_view},
    {OpKind::Squeeze, emit_squeeze},
    {OpKind::Unsqueeze, emit_unsqueeze},
    {OpKind::Transpose, emit_transpose},
    {OpKind::Concat, emit_plain_concat},
    {OpKind::Split, emit_split},
    {OpKind::Slice, emit_slice},
    {OpKind::Pad, emit_pad},
    {OpKind::Tile, emit_tile},
    {OpKind::Reverse, emit_reverse},
    {OpKind::ReverseSequence, emit_reverse_sequence},
    {OpKind::Shape, emit_shape},
    {OpKind::Size, emit_size},
    {OpKind::Range, emit_range},
    {OpKind::Fill, emit_fill},
    {OpKind::Trilu, emit_trilu},
};

}  // namespace

const std::span<const EmitRow> kEmitMovement = kRows;

void emit_concat(OpEmitter& e, const Operation& concat, bool interleave) {
  std::vector<std::string> values;
  for (const Tensor* input : concat.inputs()) values.push_back(e.block().name(input));
  const int64_t axis = concat.attrs_as<AxisAttrs>().axis;
  const auto rank = static_cast<int64_t>(concat.input(0)->shape()->rank());
  e.emit("concat", {{"values", std::move(values)},
                    {"axis", e.i32(axis < 0 ? axis + rank : axis)},
                    {"interleave", e.flag(interleave)}});
}

}  // namespace ec::mil
