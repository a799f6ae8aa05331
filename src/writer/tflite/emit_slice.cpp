// Slices of tensors and pads around them. Starts and ends may be constants or computed.
#include <algorithm>
#include <numeric>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

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
    const auto clamped = [size](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    box.stride[d] = step;
    box.begin[d] = step > 0 ? clamped((*starts)[i], 0, size) : clamped((*starts)[i], 0, size - 1);
    box.end[d] = step > 0 ? clamped((*ends)[i], 0, size) : clamped((*ends)[i], -1, size - 1);
  }
  return box;
}

// A list of starts or ends for some dimensions as one for all of them: the others get any element
// of the list, which the masks make the operator ignore.
Result<int32_t> bounds_of_all(OpEmitter& e, size_t operand, const std::vector<int64_t>& axes) {
  const ec::Tensor& list = *written_operand(e.op(), operand);
  int32_t bounds = e.graph().tensor(&list);
  if (list.dtype() != DType::I32) {
    // "To the end" is the largest 64-bit number.
    const ec::TensorType& wide = list.type();
    if (!list.is_constant())
      bounds = e.step(
          Op::MINIMUM, {bounds, e.number(wide, double{INT32_MAX})}, wide,
          options(BuiltinOptions::MaximumMinimumOptions, CreateMaximumMinimumOptions(e.fbb())));
    EC_TRY(bounds, list.is_constant() ? e.int32_operand(operand)
                                      : Result<int32_t>(e.cast_to_i32(bounds, list)));
  }
  std::vector<int64_t> entry(e.rank(), 0), natural(e.rank());
  std::iota(natural.begin(), natural.end(), int64_t{0});
  if (axes == natural) return bounds;
  for (size_t i = 0; i < axes.size(); ++i) entry[static_cast<size_t>(axes[i])] = int64_t(i);
  return e.step(Op::GATHER, {bounds, e.ints(entry)},
                ec::TensorType(DType::I32, Shape{Dim(static_cast<int64_t>(e.rank()))}),
                options(BuiltinOptions::GatherOptions, CreateGatherOptions(e.fbb(), 0)));
}

Status emit_computed_slice(OpEmitter& e) {
  const auto steps = int_values(e.op().input(4));
  const auto count = e.input(1).type().num_elements();
  if (!e.input(0).shape() || !count || (e.has(3) && !int_values(e.op().input(3))) ||
      (e.has(4) && !steps))
    return e.fail("axes or steps that are computed",
                  "export with fixed sizes, so that they are constants");
  std::vector<int64_t> axes = int_values(e.op().input(3)).value_or(std::vector<int64_t>{});
  for (int64_t i = 0; axes.size() < static_cast<size_t>(*count); ++i) axes.push_back(i);
  if (axes.empty()) {
    const std::vector<int64_t> zeros(e.rank(), 0), whole_sizes(e.rank(), -1);
    e.add(Op::SLICE, {e.in(0), e.ints(zeros), e.ints(whole_sizes)}, {e.out()},
          options(BuiltinOptions::SliceOptions, CreateSliceOptions(e.fbb())));
    return {};
  }
  std::vector<int64_t> strides(e.rank(), 1);
  int32_t whole = (1 << e.rank()) - 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = positive_axis(axes[i], e.rank());
    whole &= ~(1 << axes[i]);
    if (steps) strides[static_cast<size_t>(axes[i])] = (*steps)[i];
  }
  EC_TRY(const int32_t begin, bounds_of_all(e, 1, axes));
  EC_TRY(const int32_t end, bounds_of_all(e, 2, axes));
  e.add(Op::STRIDED_SLICE, {e.in(0), begin, end, e.ints(strides)}, {e.out()},
        options(BuiltinOptions::StridedSliceOptions,
                CreateStridedSliceOptions(e.fbb(), whole, whole)));
  return {};
}

// Places of single elements in some dimensions, which the result does not have any more.
const Operation* dropped_dimensions(OpEmitter& e) {
  const Operation* drop = e.graph().only_reader(e.op().output(), OpKind::Squeeze);
  const bool one = drop != nullptr &&
                   e.op().location().op_type == builtin_name(Op::STRIDED_SLICE) &&
                   e.has_source_of(*drop) && int_values(drop->input(1));
  return one ? drop : nullptr;
}

Status emit_slice(OpEmitter& e) {
  if (const ec::Tensor* sizes = slice_sizes(e.op())) {
    EC_TRY(const int32_t begin, e.int32_operand(1));
    e.add(Op::SLICE, {e.in(0), begin, e.graph().tensor(sizes)}, {e.out()},
          options(BuiltinOptions::SliceOptions, CreateSliceOptions(e.fbb())));
    return {};
  }
  const auto box = slice_box(e.op());
  if (!box) return emit_computed_slice(e);
  const Operation* drop = dropped_dimensions(e);
  const bool plain =
      std::all_of(box->stride.begin(), box->stride.end(), [](int64_t s) { return s == 1; });
  if (plain && e.op().location().op_type != builtin_name(Op::STRIDED_SLICE)) {
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < box->begin.size(); ++d)
      sizes.push_back(box->end[d] < 0 ? -1 : std::max<int64_t>(0, box->end[d] - box->begin[d]));
    e.add(Op::SLICE, {e.in(0), e.ints(box->begin), e.ints(sizes)}, {e.out()},
          options(BuiltinOptions::SliceOptions, CreateSliceOptions(e.fbb())));
    return {};
  }
  // A negative end means "from the back": the mask stands for the very begin.
  int32_t end_mask = 0, drop_mask = 0;
  for (size_t d = 0; d < box->end.size(); ++d)
    if (box->end[d] < 0) end_mask |= 1 << d;
  if (drop != nullptr) {
    e.graph().take_along(drop);
    const std::vector<int64_t> axes = *int_values(drop->input(1));
    for (const int64_t axis : axes) drop_mask |= 1 << positive_axis(axis, e.rank());
  }
  const ec::Tensor* result = drop != nullptr ? drop->output() : e.op().output();
  e.add(Op::STRIDED_SLICE, {e.in(0), e.ints(box->begin), e.ints(box->end), e.ints(box->stride)},
        {e.graph().tensor(result)},
        options(BuiltinOptions::StridedSliceOptions,
                CreateStridedSliceOptions(e.fbb(), 0, end_mask, 0, 0, drop_mask)));
  return {};
}

// The pads as the file has them: a pair for each dimension.
Result<int32_t> computed_pads(OpEmitter& e) {
  if (const ec::Tensor* pairs = pad_pairs(e.op())) return e.graph().tensor(pairs);
  if (e.has(3)) return e.fail("pads that are computed", "export with fixed sizes");
  EC_TRY(const int32_t list, e.int32_operand(1));
  const auto rank = static_cast<int64_t>(e.rank());
  const int64_t sides[] = {2, rank}, swap[] = {1, 0};
  const int32_t rows = e.step(Op::RESHAPE, {list, e.ints(sides)},
                              ec::TensorType(DType::I32, Shape{Dim(2), Dim(rank)}));
  return e.step(Op::TRANSPOSE, {rows, e.ints(swap)},
                ec::TensorType(DType::I32, Shape{Dim(rank), Dim(2)}),
                options(BuiltinOptions::TransposeOptions, CreateTransposeOptions(e.fbb())));
}

Result<int32_t> known_pads(OpEmitter& e, const std::vector<int64_t>& pads) {
  const size_t rank = e.rank();
  std::vector<int64_t> table(rank * 2, 0);
  std::vector<int64_t> axes;
  if (const auto given = int_values(e.op().input(3)))
    axes = *given;
  else
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(positive_axis(axes[i], rank));
    table[2 * d] = pads[i];
    table[2 * d + 1] = pads[i + axes.size()];
  }
  if (std::any_of(table.begin(), table.end(), [](int64_t p) { return p < 0; }))
    return e.fail("negative pads");
  std::vector<int32_t> narrow(table.begin(), table.end());
  return e.constant(ec::TensorType(DType::I32, Shape{Dim(static_cast<int64_t>(rank)), Dim(2)}),
                    Blob::copy_of(std::span<const int32_t>(narrow)));
}

Status emit_pad(OpEmitter& e) {
  if (!e.input(0).shape()) return e.fail("of an unknown number of dimensions");
  const auto pads = int_values(e.op().input(1));
  EC_TRY(const int32_t paddings, pads ? known_pads(e, *pads) : computed_pads(e));
  const PadMode mode = e.attrs<PadAttrs>().mode;
  if (mode == PadMode::Reflect) {
    e.add(Op::MIRROR_PAD, {e.in(0), paddings}, {e.out()},
          options(BuiltinOptions::MirrorPadOptions,
                  CreateMirrorPadOptions(e.fbb(), MirrorPadMode::REFLECT)));
    return {};
  }
  if (mode != PadMode::Constant) return e.fail("repeating the edge or the whole");
  // The value is a stored one; what stands for 0 is what PAD puts.
  const auto value = scalar_value(e.op().input(2));
  const auto& quant = e.input(0).type().quant;
  const double zero = quant ? double(quant->zero_points[0]) : 0.0;
  if (!e.has(2) || value == zero) {
    e.add(Op::PAD, {e.in(0), paddings}, {e.out()},
          options(BuiltinOptions::PadOptions, CreatePadOptions(e.fbb())));
    return {};
  }
  ec::TensorType type(e.dtype(), Shape{});
  type.quant = quant;
  const int32_t filler = value ? e.constant(std::move(type), e.input(2).raw_data()) : e.in(2);
  e.add(Op::PADV2, {e.in(0), paddings, filler}, {e.out()},
        options(BuiltinOptions::PadV2Options, CreatePadV2Options(e.fbb())));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Slice, emit_slice},
    {OpKind::Pad, emit_pad},
};

}  // namespace

const std::span<const EmitRow> kEmitSlice = kRows;

}  // namespace ec::tflite
