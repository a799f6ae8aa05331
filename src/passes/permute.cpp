#include "passes/permute.h"

#include <algorithm>

#include "ops/op_def.h"
#include "passes/match.h"

namespace ec {
namespace {

using Role = PermuteRole;

// Families of operations that are permuted alike.
enum class Family : uint8_t {
  None,
  Elementwise,  // broadcast operands
  Axis,         // AxisAttrs on operand 0 (softmax, split) or on all operands (concat)
  Reduce,       // axes in operand 1
  ArgReduce,
  Slice,
  Pad,
  Tile,
  Expand,
  Resize,
  Gather,
  LpNorm,
  Quantize,
};

Family family_of(const Operation* op) {
  switch (op->kind()) {
    case OpKind::Softmax:
    case OpKind::LogSoftmax:
    case OpKind::Hardmax:
    case OpKind::Concat:
    case OpKind::Split:
      return Family::Axis;
    case OpKind::ReduceSum:
    case OpKind::ReduceMean:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
    case OpKind::ReduceProd:
    case OpKind::ReduceL1:
    case OpKind::ReduceL2:
    case OpKind::ReduceLogSum:
    case OpKind::ReduceLogSumExp:
    case OpKind::ReduceSumSquare:
      return Family::Reduce;
    case OpKind::ArgMax:
    case OpKind::ArgMin:
      return Family::ArgReduce;
    case OpKind::Slice:
      return Family::Slice;
    case OpKind::Pad:
      return Family::Pad;
    case OpKind::Tile:
      return Family::Tile;
    case OpKind::Expand:
      return Family::Expand;
    case OpKind::Resize:
      return Family::Resize;
    case OpKind::Gather:
      return Family::Gather;
    case OpKind::LpNorm:
      return Family::LpNorm;
    case OpKind::Quantize:
    case OpKind::Dequantize:
      return Family::Quantize;
    default:
      return op->def().traits.elementwise && op->bodies().empty() ? Family::Elementwise
                                                                  : Family::None;
  }
}

// Remaining dimensions of a reduction that drops its axes keep their order under the permutation.
bool drop_keeps_order(const std::vector<int64_t>& axes, const Perm& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

std::optional<PermuteRoles> elementwise_roles(const Operation* op, size_t rank) {
  PermuteRoles roles;
  for (const Tensor* input : op->inputs()) {
    const auto operand_rank = rank_of(input);
    if (input == nullptr || operand_rank == size_t{0}) {
      roles.inputs.push_back(Role::Plain);
    } else if (!operand_rank || *operand_rank > rank) {
      return std::nullopt;
    } else if (is_constant(input) || *operand_rank < rank) {
      roles.inputs.push_back(Role::Constant);
    } else {
      roles.inputs.push_back(Role::Data);
    }
  }
  roles.outputs = {Role::Data};
  return roles;
}

bool known_or_absent(const Tensor* tensor) { return tensor == nullptr || is_constant(tensor); }

// scale and zero point: of one element, or along an axis.
bool is_blocked(const Operation* op) {
  return op->kind() == OpKind::Quantize ? op->attrs_as<QuantizeAttrs>().block_size != 0
                                        : op->attrs_as<DequantizeAttrs>().block_size != 0;
}

}  // namespace

std::optional<PermuteRoles> permute_roles(const Operation* op, const Perm& perm) {
  const Family family = family_of(op);
  const size_t rank = perm.size();
  if (family == Family::None || op->outputs().empty()) return std::nullopt;
  for (const Tensor* output : op->outputs())
    if (output->type().quant && output->type().quant->per_channel()) return std::nullopt;
  if (family == Family::Elementwise) {
    if (rank_of(op->output()) != rank) return std::nullopt;
    return elementwise_roles(op, rank);
  }
  if (rank_of(op->input(0)) != rank) return std::nullopt;
  PermuteRoles roles;
  roles.inputs.assign(op->inputs().size(), Role::Constant);
  roles.outputs.assign(op->outputs().size(), Role::Data);
  if (!roles.inputs.empty()) roles.inputs[0] = Role::Data;
  bool fine = true;
  switch (family) {
    case Family::Axis:
      if (op->kind() == OpKind::Concat) {
        roles.inputs.assign(op->inputs().size(), Role::Data);
        for (const Tensor* input : op->inputs()) fine = fine && rank_of(input) == rank;
      } else if (roles.inputs.size() > 1) {
        roles.inputs[1] = Role::Plain;  // sizes of a split
      }
      break;
    case Family::Reduce: {
      const auto axes = reduce_axes(op);
      fine = axes.has_value();
      if (fine && !axes->empty() && !op->attrs_as<ReduceAttrs>().keep_dims) {
        fine = drop_keeps_order(*axes, perm);
        roles.outputs[0] = Role::Plain;
      }
      break;
    }
    case Family::ArgReduce: {
      const auto& attrs = op->attrs_as<ArgReduceAttrs>();
      if (!attrs.keep_dims) {
        fine = drop_keeps_order({positive_axis(attrs.axis, rank)}, perm);
        roles.outputs[0] = Role::Plain;
      }
      break;
    }
    case Family::Slice:
      // Starts, ends and steps follow their axes; only the list of axes changes.
      fine =
          known_or_absent(op->input(3)) && (op->input(3) != nullptr || rank_of(op->input(1)) == 1);
      fine = fine && op->input(1)->type().is_static();
      for (size_t i = 1; i < roles.inputs.size(); ++i)
        if (i != 3) roles.inputs[i] = Role::Plain;
      break;
    case Family::Pad:
      fine = is_constant(op->input(1)) && known_or_absent(op->input(3));
      if (roles.inputs.size() > 2) roles.inputs[2] = Role::Plain;
      break;
    case Family::Tile:
    case Family::Expand:
      fine = is_constant(op->input(1)) && rank_of(op->output()) == rank;
      break;
    case Family::Resize:
      for (size_t i = 1; i < op->inputs().size(); ++i) fine = fine && known_or_absent(op->input(i));
      break;
    case Family::Gather:
      // With one list of indices the rank stays.
      fine = rank_of(op->input(1)) == 1;
      roles.inputs[1] = Role::Plain;
      break;
    case Family::Quantize:
      fine = !is_blocked(op);
      for (size_t i = 1; i < roles.inputs.size(); ++i) roles.inputs[i] = Role::Plain;
      break;
    case Family::LpNorm:
    case Family::Elementwise:
    case Family::None:
      break;
  }
  if (!fine) return std::nullopt;
  return roles;
}

Result<Tensor*> add_transposed(Rewriter& rewriter, Tensor* x, const Perm& perm,
                               std::initializer_list<const Operation*> from) {
  if (is_identity(perm)) return x;
  if (x->is_constant()) {
    auto quant = x->type().quant;  // x goes away where nothing else reads it
    EC_TRY(Tensor * constant,
           rewriter.add_folded(OpKind::Transpose, {x}, TransposeAttrs{.perm = perm}));
    if (quant) {
      if (quant->per_channel())
        quant->axis = static_cast<int32_t>(inverse(perm)[static_cast<size_t>(quant->axis)]);
      rewriter.graph().set_quant(constant, std::move(quant));
    }
    return constant;
  }
  if (const Operation* widen = produced_by(x, OpKind::Dequantize);
      widen != nullptr && is_constant(widen->input(0)) && permute_roles(widen, perm)) {
    std::vector<Tensor*> inputs = widen->inputs();
    EC_TRY(inputs[0], add_transposed(rewriter, inputs[0], perm, from));
    EC_TRY(const Operation* turned, add_permuted(rewriter, widen, std::move(inputs), perm));
    return turned->output();
  }
  if (x->shape() && keeps_order(*x->shape(), perm)) {
    EC_TRY(Tensor * reshaped, add_reshape(rewriter, x, permuted(*x->shape(), perm), from));
    if (reshaped != nullptr) return reshaped;
  }
  return rewriter.transpose(x, perm, from);
}

Result<Tensor*> add_leading_ones(Rewriter& rewriter, Tensor* x, size_t rank,
                                 std::initializer_list<const Operation*> from) {
  const size_t missing = rank - x->shape()->rank();
  if (missing == 0) return x;
  Tensor* axes = rewriter.ints(identity_perm(missing));
  if (x->is_constant()) return rewriter.add_folded(OpKind::Unsqueeze, {x, axes});
  return rewriter.add(OpKind::Unsqueeze, {x, axes}, NoAttrs{}, from);
}

namespace {

std::vector<int64_t> permuted_list(const std::vector<int64_t>& values, const Perm& perm) {
  std::vector<int64_t> result;
  for (const int64_t axis : perm) result.push_back(values[static_cast<size_t>(axis)]);
  return result;
}

// A constant list with one entry per dimension.
Result<Tensor*> permuted_list_constant(Rewriter& rewriter, Tensor* list, const Perm& perm) {
  return rewriter.add_folded(OpKind::Gather, {list, rewriter.ints(perm)}, GatherAttrs{.axis = 0});
}

// Fills `inputs` and `attrs` for one family. `where` maps an axis to its new position.
class Permuter {
 public:
  Permuter(Rewriter& rewriter, const Operation* op, std::vector<Tensor*>& inputs, Attrs& attrs,
           const Perm& perm)
      : rewriter_(rewriter),
        op_(op),
        inputs_(inputs),
        attrs_(attrs),
        perm_(perm),
        place_(inverse(perm)) {}

  Status run(Family family, const PermuteRoles& roles) {
    switch (family) {
      case Family::Elementwise:
        return broadcast_operands(roles);
      case Family::Axis:
        attrs_.edit<AxisAttrs>().axis = place(op_->attrs_as<AxisAttrs>().axis);
        return {};
      case Family::LpNorm:
        attrs_.edit<LpNormAttrs>().axis = place(op_->attrs_as<LpNormAttrs>().axis);
        return {};
      case Family::ArgReduce:
        attrs_.edit<ArgReduceAttrs>().axis = place(op_->attrs_as<ArgReduceAttrs>().axis);
        return {};
      case Family::Gather:
        attrs_.edit<GatherAttrs>().axis = place(op_->attrs_as<GatherAttrs>().axis);
        return {};
      case Family::Quantize:
        if (attrs_.is<QuantizeAttrs>())
          attrs_.edit<QuantizeAttrs>().axis = place_if_axis(op_->attrs_as<QuantizeAttrs>().axis);
        else
          attrs_.edit<DequantizeAttrs>().axis =
              place_if_axis(op_->attrs_as<DequantizeAttrs>().axis);
        return {};
      case Family::Reduce:
        if (op_->input(1) != nullptr) set_axes(1, *reduce_axes(op_));
        return {};
      case Family::Slice:
        return slice();
      case Family::Pad:
        return pad();
      case Family::Tile: {
        EC_TRY(inputs_[1], permuted_list_constant(rewriter_, op_->input(1), perm_));
        return {};
      }
      case Family::Expand:
        return expand();
      case Family::Resize:
        return resize();
      case Family::None:
        break;
    }
    return {};
  }

 private:
  int64_t place(int64_t axis) const {
    return place_[static_cast<size_t>(positive_axis(axis, perm_.size()))];
  }
  // Per-tensor parameters ignore the axis, which may then be anything.
  int64_t place_if_axis(int64_t axis) const {
    const int64_t a = positive_axis(axis, perm_.size());
    return a >= 0 && a < static_cast<int64_t>(perm_.size()) ? place(a) : axis;
  }
  void set_axes(size_t index, std::vector<int64_t> axes) {
    for (int64_t& axis : axes) axis = place(axis);
    inputs_[index] = rewriter_.ints(axes);
  }

  Status broadcast_operands(const PermuteRoles& roles) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (roles.inputs[i] != Role::Constant) continue;
      EC_TRY(Tensor * full, add_leading_ones(rewriter_, op_->input(i), perm_.size(), {op_}));
      EC_TRY(inputs_[i], add_transposed(rewriter_, full, perm_, {op_}));
    }
    return {};
  }

  Status slice() {
    std::vector<int64_t> axes;
    if (op_->input(3) != nullptr) {
      axes = *int_values(op_->input(3));
      for (int64_t& axis : axes) axis = positive_axis(axis, perm_.size());
    } else {
      axes = identity_perm(static_cast<size_t>(*op_->input(1)->type().num_elements()));
      inputs_.resize(std::max<size_t>(inputs_.size(), 4), nullptr);
    }
    set_axes(3, std::move(axes));
    return {};
  }

  Status pad() {
    if (op_->input(3) != nullptr) {
      std::vector<int64_t> axes = *int_values(op_->input(3));
      set_axes(3, std::move(axes));
      return {};
    }
    const size_t rank = perm_.size();
    Perm both = perm_;
    for (size_t i = 0; i < rank; ++i) both.push_back(perm_[i] + static_cast<int64_t>(rank));
    EC_TRY(inputs_[1], permuted_list_constant(rewriter_, op_->input(1), both));
    return {};
  }

  Status expand() {
    std::vector<int64_t> sizes = *int_values(op_->input(1));
    sizes.insert(sizes.begin(), perm_.size() - sizes.size(), 1);
    inputs_[1] = rewriter_.ints(permuted_list(sizes, perm_));
    return {};
  }

  // roi, scales and sizes have an entry per listed axis; without a list, per dimension.
  Status resize() {
    auto& axes = attrs_.edit<ResizeAttrs>().axes;
    if (!axes.empty()) {
      for (int64_t& axis : axes) axis = place(axis);
      return {};
    }
    for (size_t i = 1; i < inputs_.size(); ++i) {
      Tensor* list = op_->input(i);
      if (list == nullptr || list->type().num_elements() == 0) continue;
      Perm order = perm_;
      if (i == 1)  // the region of interest: starts, then ends
        for (const int64_t axis : perm_) order.push_back(axis + static_cast<int64_t>(perm_.size()));
      EC_TRY(inputs_[i], permuted_list_constant(rewriter_, list, order));
    }
    return {};
  }

  Rewriter& rewriter_;
  const Operation* op_;
  std::vector<Tensor*>& inputs_;
  Attrs& attrs_;
  const Perm& perm_;
  Perm place_;
};

}  // namespace

Result<Operation*> add_permuted(Rewriter& rewriter, const Operation* op,
                                std::vector<Tensor*> inputs, const Perm& perm) {
  const auto roles = permute_roles(op, perm);
  if (!roles) return Error(Code::Internal, "operation has no permuted form");
  OpSpec spec;
  spec.attrs = op->attrs();
  spec.location = op->location();
  spec.num_outputs = op->outputs().size();
  EC_CHECK_OK(Permuter(rewriter, op, inputs, spec.attrs, perm).run(family_of(op), *roles));
  EC_TRY(Operation * result, rewriter.add_op(op->kind(), std::move(inputs), std::move(spec)));
  for (size_t i = 0; i < op->outputs().size(); ++i)
    rewriter.graph().set_quant(result->output(i), op->output(i)->type().quant);
  return result;
}

}  // namespace ec
