#include "writer/tflite/absorb.h"

#include "formats/tflite/builtin_operator.h"
#include "ops/attrs.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

// Operands that are indices or sizes: any integers in the graph, 32 bits in the file.
bool takes_indices(OpKind kind, size_t i) {
  switch (kind) {
    case OpKind::Reshape:
    case OpKind::Tile:
    case OpKind::Expand:
    case OpKind::Gather:
    case OpKind::GatherNd:
    case OpKind::ScatterNd:
    case OpKind::ReverseSequence:
      return i == 1;
    case OpKind::Slice:
    case OpKind::SpaceToBatch:
    case OpKind::BatchToSpace:
      return i == 1 || i == 2;
    case OpKind::DynamicUpdateSlice:
      return i == 2;
    case OpKind::Fill:
    case OpKind::OneHot:
      return i == 0;
    default:
      return false;
  }
}

// What the tensor was before a dimension of size 1 was put at `axis`; null: nothing like that.
const ec::Tensor* before_new_axis(const ec::Tensor* tensor, int64_t axis) {
  const Operation* op = tensor->producer();
  if (op == nullptr || (op->kind() != OpKind::Unsqueeze && op->kind() != OpKind::Reshape))
    return nullptr;
  const ec::Tensor* x = op->input(0);
  if (!x->shape() || !tensor->shape() || x->type().quant != tensor->type().quant) return nullptr;
  if (op->kind() == OpKind::Unsqueeze) {
    const auto axes = int_values(op->input(1));
    const bool fits =
        axes && axes->size() == 1 && positive_axis((*axes)[0], tensor->shape()->rank()) == axis;
    return fits ? x : nullptr;
  }
  Shape without = *tensor->shape();
  without.dims().erase(without.dims().begin() + axis);
  return without.is_static() && without == *x->shape() ? x : nullptr;
}

// Through a widening to 64 bits.
const ec::Tensor* narrow_source(const ec::Tensor* tensor) {
  const Operation* op = tensor->producer();
  const bool widens =
      op != nullptr && op->kind() == OpKind::Cast && op->input(0)->dtype() == DType::I32;
  return widens ? op->input(0) : tensor;
}

const Operation* made_by(const ec::Tensor* tensor, OpKind kind) {
  const Operation* op = tensor != nullptr ? tensor->producer() : nullptr;
  return op != nullptr && op->kind() == kind ? op : nullptr;
}

// The file has the filters of these with other dimensions first.
bool turns_filters(const Operation& op) {
  return op.kind() == OpKind::ConvTranspose || op.input(1)->shape()->rank() != 4 ||
         is_depthwise(op);
}

}  // namespace

const ec::Tensor* stored_constant(const ec::Tensor& tensor) {
  const Operation* widen = tensor.producer();
  if (widen == nullptr || !widen->input(0)->is_constant()) return nullptr;
  return widen->kind() == OpKind::Cast || widen->kind() == OpKind::Dequantize ? widen->input(0)
                                                                              : nullptr;
}

// With one channel both operators do; which one the source had shows in its name.
bool is_depthwise(const Operation& conv) {
  const auto& attrs = conv.attrs_as<ConvAttrs>();
  const auto& shape = conv.input(0)->shape();
  return shape && shape->rank() == 4 && (*shape)[3] == Dim(attrs.groups) &&
         (attrs.groups > 1 ||
          conv.location().op_type == builtin_name(BuiltinOperator::DEPTHWISE_CONV_2D));
}

// where(sizes < 0, the end, starts + sizes)
const ec::Tensor* slice_sizes(const Operation& slice) {
  const Operation* choice = made_by(slice.input(2), OpKind::Where);
  if (choice == nullptr || slice.input(3) != nullptr) return nullptr;
  const Operation* open = made_by(choice->input(0), OpKind::Less);
  const Operation* sum = made_by(choice->input(2), OpKind::Add);
  if (open == nullptr || sum == nullptr || scalar_value(open->input(1)) != 0.0) return nullptr;
  const ec::Tensor* sizes = open->input(0);
  if (sum->input(0) != slice.input(1) || sum->input(1) != sizes) return nullptr;
  const ec::Tensor* narrow = narrow_source(sizes);
  return narrow->dtype() == DType::I32 ? narrow : nullptr;
}

// reshape(transpose(pairs), [-1])
const ec::Tensor* pad_pairs(const Operation& pad) {
  const Operation* list = made_by(pad.input(1), OpKind::Reshape);
  const Operation* moved = list != nullptr ? made_by(list->input(0), OpKind::Transpose) : nullptr;
  if (moved == nullptr || pad.input(3) != nullptr || moved->output()->shape()->rank() != 2)
    return nullptr;
  const ec::Tensor* pairs = narrow_source(moved->input(0));
  return pairs->dtype() == DType::I32 ? pairs : nullptr;
}

bool is_pack(const Operation& concat) {
  const ec::Tensor* first = concat.input(0);
  if (!first->shape()) return false;
  const int64_t axis = positive_axis(concat.attrs_as<AxisAttrs>().axis, first->shape()->rank());
  bool computed = false;
  for (const ec::Tensor* part : concat.inputs()) {
    if (!part->shape()) return false;
    const Dim& size = (*part->shape())[static_cast<size_t>(axis)];
    if (!size.is_static() || size.size() != 1) return false;
    if (part->is_constant()) continue;
    if (before_new_axis(part, axis) == nullptr) return false;
    computed = true;
  }
  return computed;
}

const ec::Tensor* written_operand(const Operation& op, size_t i) {
  const ec::Tensor* operand = op.input(i);
  if (operand->producer() == nullptr) return operand;
  const auto axis_of = [&operand](const Operation& concat) {
    return positive_axis(concat.attrs_as<AxisAttrs>().axis, operand->shape()->rank());
  };
  switch (op.kind()) {
    case OpKind::Conv:
    case OpKind::ConvTranspose:
      if (const ec::Tensor* stored = i == 1 ? stored_constant(*operand) : nullptr;
          stored != nullptr && turns_filters(op))
        return stored;
      break;
    case OpKind::Concat:
      return is_pack(op) ? before_new_axis(operand, axis_of(op)) : operand;
    case OpKind::Slice:
      if (const ec::Tensor* sizes = i == 2 ? slice_sizes(op) : nullptr) return sizes;
      break;
    case OpKind::Pad:
      if (const ec::Tensor* pairs = i == 1 ? pad_pairs(op) : nullptr) return pairs;
      // One element is a number, whatever its dimensions.
      if (const Operation* view = i == 2 ? made_by(operand, OpKind::Reshape) : nullptr)
        return view->input(0);
      break;
    case OpKind::Gemm:
    case OpKind::MatMul:
      // Linear layers of files flatten what they read.
      if (const Operation* flat = i == 0 ? made_by(operand, OpKind::Reshape) : nullptr;
          flat != nullptr && flat->location() == op.location() &&
          op.location().op_type == builtin_name(BuiltinOperator::FULLY_CONNECTED))
        return flat->input(0);
      break;
    case OpKind::GatherNd:
      // Batches: the indices of GATHER have no dimension of size 1 behind them.
      if (const Operation* view = i == 1 ? made_by(operand, OpKind::Unsqueeze) : nullptr;
          view != nullptr && op.attrs_as<GatherNdAttrs>().batch_dims > 0)
        return narrow_source(view->input(0));
      break;
    case OpKind::ScatterNd:
      // Zeros to scatter into are given by their shape.
      if (const Operation* fill = i == 0 ? made_by(operand, OpKind::Fill) : nullptr;
          fill != nullptr && scalar_value(fill->input(1)) == 0.0)
        return narrow_source(fill->input(0));
      break;
    default:
      break;
  }
  return takes_indices(op.kind(), i) ? narrow_source(operand) : operand;
}

}  // namespace ec::tflite
