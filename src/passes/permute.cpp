#include "passes/permute.h"

#include <algorithm>

#include "ir/permuted_quant.h"
#include "ops/op_def.h"
#include "passes/match.h"
#include "passes/permute_axes.h"

namespace ec {
namespace {

using Role = PermuteRole;

std::optional<PermuteRoles> elementwise_roles(const Operation* op, size_t rank) {
  if (rank_of(op->output()) != rank) return std::nullopt;
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

std::optional<PermuteRoles> axis_roles(const Operation* op, const Perm& perm) {
  const AxisForm* form = axis_form(op->kind());
  if (form == nullptr || rank_of(op->input(0)) != perm.size()) return std::nullopt;
  PermuteRoles roles;
  roles.inputs.assign(op->inputs().size(), Role::Constant);
  roles.inputs[0] = Role::Data;
  roles.outputs.assign(op->outputs().size(), Role::Data);
  if (!form->find_roles(op, perm, roles)) return std::nullopt;
  return roles;
}

bool has_scale_per_channel(const Tensor* tensor) {
  return tensor->type().quant && tensor->type().quant->per_channel();
}

}  // namespace

std::optional<PermuteRoles> permute_roles(const Operation* op, const Perm& perm) {
  if (op->outputs().empty() || std::ranges::any_of(op->outputs(), has_scale_per_channel))
    return std::nullopt;
  switch (op->def().layout) {
    case LayoutRule::Agnostic:
      return elementwise_roles(op, perm.size());
    case LayoutRule::AxisAttr:
      return axis_roles(op, perm);
    case LayoutRule::FollowsInput:
    case LayoutRule::Fixed:
      break;
  }
  return std::nullopt;
}

Result<Tensor*> add_transposed(Rewriter& rewriter, Tensor* x, const Perm& perm,
                               std::initializer_list<const Operation*> from) {
  if (is_identity(perm)) return x;
  if (x->is_constant()) {
    auto quant = permuted(x->type().quant, perm);  // x goes away where nothing else reads it
    EC_TRY(Tensor * constant,
           rewriter.add_folded(OpKind::Transpose, {x}, TransposeAttrs{.perm = perm}));
    if (quant) rewriter.graph().set_quant(constant, std::move(quant));
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
    if (reshaped != nullptr) {
      rewriter.graph().set_quant(reshaped, permuted(x->type().quant, perm));
      return reshaped;
    }
  }
  return rewriter.transpose(x, perm, from);
}

Result<Tensor*> add_leading_ones(Rewriter& rewriter, Tensor* x, size_t rank,
                                 std::initializer_list<const Operation*> from) {
  const size_t missing = rank - x->shape()->rank();
  if (missing == 0) return x;
  Tensor* axes = rewriter.ints(identity_perm(missing));
  std::optional<QuantParams> quant = x->type().quant;
  if (quant && quant->per_channel()) quant->axis += static_cast<int32_t>(missing);
  EC_TRY(Tensor * widened, x->is_constant()
                               ? rewriter.add_folded(OpKind::Unsqueeze, {x, axes})
                               : rewriter.add(OpKind::Unsqueeze, {x, axes}, NoAttrs{}, from));
  rewriter.graph().set_quant(widened, std::move(quant));
  return widened;
}

namespace {

// Operands that are broadcast get the leading dimensions they lack and are transposed.
Status broadcast_operands(Rewriter& rewriter, const Operation* op, const PermuteRoles& roles,
                          std::vector<Tensor*>& inputs, const Perm& perm) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles.inputs[i] != Role::Constant) continue;
    EC_TRY(Tensor * full, add_leading_ones(rewriter, op->input(i), perm.size(), {op}));
    EC_TRY(inputs[i], add_transposed(rewriter, full, perm, {op}));
  }
  return {};
}

}  // namespace

Result<Operation*> add_permuted(Rewriter& rewriter, const Operation* op,
                                std::vector<Tensor*> inputs, const Perm& perm) {
  const auto roles = permute_roles(op, perm);
  if (!roles) return Error(Code::Internal, "operation has no permuted form");
  OpSpec spec;
  spec.attrs = op->attrs();
  spec.location = op->location();
  spec.num_outputs = op->outputs().size();
  if (op->def().layout == LayoutRule::Agnostic) {
    EC_CHECK_OK(broadcast_operands(rewriter, op, *roles, inputs, perm));
  } else {
    AxisRewrite rewrite{rewriter, op, perm, inputs, spec.attrs};
    EC_CHECK_OK(axis_form(op->kind())->rewrite(rewrite));
  }
  EC_TRY(Operation * result, rewriter.add_op(op->kind(), std::move(inputs), std::move(spec)));
  for (size_t i = 0; i < op->outputs().size(); ++i)
    rewriter.graph().set_quant(result->output(i), op->output(i)->type().quant);
  return result;
}

}  // namespace ec
