// simplify-transposes: transposes merge, cancel, become reshapes or attributes of matrix products,
// and move over other operations where that makes them fewer.
//
//   transpose(transpose(%x)) -> transpose(%x) or %x
//   transpose(relu(transpose(%x))) -> relu(transpose(transpose(%x)))
//   add(transpose(%a), transpose(%b)) -> transpose(add(%a, %b))
#include <algorithm>

#include "passes/match.h"
#include "passes/permute.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

// How far a transpose looks upwards for another one. Bounds the time per transpose.
constexpr int kMaxDistance = 16;

Result<bool> merge_transposes(Rewriter& rewriter, Operation* op) {
  const Operation* inner = produced_by(op->input(0), OpKind::Transpose);
  if (inner == nullptr) return false;
  const auto first = perm_of(inner);
  const auto second = perm_of(op);
  Tensor* x = inner->input(0);
  if (!first || !second || first->size() != second->size()) return false;
  if (op->output()->type().quant != x->type().quant && has_quant(op)) return false;
  const Perm joint = compose(*first, *second);
  if (is_identity(joint)) return rewriter.forward(op, x);
  EC_TRY(Tensor * result, rewriter.transpose(x, joint, {inner, op}));
  rewriter.replace(op, result);
  return true;
}

int64_t open_sizes(const Shape& shape) {
  return std::ranges::count_if(shape.dims(), [](const Dim& dim) { return !dim.is_static(); });
}

// Only dimensions of size 1 move: the same bytes under another shape.
Result<bool> transpose_to_reshape(Rewriter& rewriter, Operation* op) {
  const auto& shape = op->input(0)->shape();
  const auto perm = perm_of(op);
  if (!shape || !perm || !op->output()->shape() || !keeps_order(*shape, *perm)) return false;
  if (has_quant(op)) return false;
  // Of two open sizes one would be copied and one computed; where the first is 0, no size follows.
  if (open_sizes(*shape) > 1) return false;
  EC_TRY(Tensor * result, add_reshape(rewriter, op->input(0), *op->output()->shape(), {op}));
  if (result == nullptr) return false;
  rewriter.replace(op, result);
  return true;
}

// transpose of the last two dimensions of a matrix product's operand -> its attribute.
Result<bool> merge_into_matmul(Rewriter& rewriter, Operation* op) {
  for (size_t side = 0; side < 2; ++side) {
    const Operation* transpose = produced_by(op->input(side), OpKind::Transpose);
    if (transpose == nullptr || has_quant(transpose)) continue;
    const auto perm = perm_of(transpose);
    if (!perm || perm->size() < 2) continue;
    Perm swap = identity_perm(perm->size());
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    if (*perm != swap) continue;
    Attrs attrs = op->attrs();
    const auto flip = [side](auto& a) {
      if (side == 0)
        a.transpose_a = !a.transpose_a;
      else
        a.transpose_b = !a.transpose_b;
    };
    if (attrs.is<MatMulAttrs>())
      flip(attrs.edit<MatMulAttrs>());
    else
      flip(attrs.edit<GemmAttrs>());
    std::vector<Tensor*> inputs = op->inputs();
    inputs[side] = transpose->input(0);
    EC_TRY(Tensor * result, rewriter.add(op->kind(), std::move(inputs), attrs, {op, transpose}));
    rewriter.replace(op, result);
    return true;
  }
  return false;
}

// All data operands of an operation come from transposes by one permutation, and at least two of
// these die: the operation works on their operands and one transpose follows.
Result<bool> sink_common_transpose(Rewriter& rewriter, Operation* op) {
  std::optional<Perm> perm;
  for (const Tensor* input : op->inputs())
    if (const Operation* transpose = produced_by(input, OpKind::Transpose))
      perm = perm_of(transpose);
  if (!perm || op->outputs().size() != 1) return false;
  const auto roles = permute_roles(op, *perm);
  if (!roles || roles->outputs[0] != PermuteRole::Data) return false;
  std::vector<Tensor*> inputs = op->inputs();
  int dying = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles->inputs[i] == PermuteRole::Constant && inputs[i] != nullptr &&
        !is_constant(inputs[i]) && rank_of(inputs[i]).value_or(1) > 1)
      return false;  // would need a transpose of its own
    if (roles->inputs[i] != PermuteRole::Data) continue;
    const Operation* transpose = produced_by(inputs[i], OpKind::Transpose);
    if (transpose == nullptr || perm_of(transpose) != perm) return false;
    const bool again =
        std::find(op->inputs().begin(), op->inputs().begin() + static_cast<std::ptrdiff_t>(i),
                  inputs[i]) != op->inputs().begin() + static_cast<std::ptrdiff_t>(i);
    if (!again && has_single_use(inputs[i])) ++dying;
    inputs[i] = transpose->input(0);
  }
  if (dying < 2) return false;
  // transpose(x, p) is the data: the operation undoes p on its parameters and p follows.
  EC_TRY(Operation * inner, add_permuted(rewriter, op, std::move(inputs), inverse(*perm)));
  EC_TRY(Tensor * result, rewriter.transpose(inner->output(), *perm, {op}));
  rewriter.replace(op, result);
  return true;
}

// One operation reads the tensor, perhaps as several operands (a square).
bool has_single_reader(const Tensor* tensor) {
  if (tensor->uses().empty() || tensor->uses().front().op->graph().is_output(tensor)) return false;
  return std::all_of(tensor->uses().begin(), tensor->uses().end(),
                     [&](const Use& use) { return use.op == tensor->uses().front().op; });
}

// The chain of operations with one reader above a tensor that is to be transposed, up to another
// transpose that merges with it. Nearest first; empty when there is none in reach.
std::vector<Operation*> chain_to_transpose(const Tensor* tensor, const Perm& perm) {
  std::vector<Operation*> chain;
  for (int i = 0; i < kMaxDistance; ++i) {
    Operation* op = tensor->producer();
    if (op == nullptr || !has_single_reader(tensor)) return {};
    if (op->kind() == OpKind::Transpose) {
      chain.push_back(op);
      return chain;
    }
    if (op->outputs().size() != 1) return {};
    const auto roles = permute_roles(op, perm);
    if (!roles || roles->outputs[0] != PermuteRole::Data) return {};
    const Tensor* data = nullptr;
    for (size_t k = 0; k < roles->inputs.size(); ++k) {
      const Tensor* input = op->input(k);
      if (roles->inputs[k] == PermuteRole::Constant && input != nullptr && !is_constant(input))
        return {};
      if (roles->inputs[k] != PermuteRole::Data) continue;
      if (data != nullptr && data != input) return {};
      data = input;
    }
    if (data == nullptr) return {};
    chain.push_back(op);
    tensor = data;
  }
  return {};
}

// transpose(f(transpose(x))) -> f(transpose(transpose(x))): the two merge.
Result<bool> lift_to_transpose(Rewriter& rewriter, Operation* op) {
  const auto own = perm_of(op);
  if (!own) return false;
  const Perm perm = *own;
  std::vector<Operation*> chain = chain_to_transpose(op->input(0), perm);
  if (chain.size() < 2) return false;
  const Operation* upper = chain.back();
  const auto upper_perm = perm_of(upper);
  if (!upper_perm || upper_perm->size() != perm.size()) return false;
  chain.pop_back();
  EC_TRY(Tensor * tensor,
         add_transposed(rewriter, upper->input(0), compose(*upper_perm, perm), {upper, op}));
  Tensor* old = upper->output();
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    std::vector<Tensor*> inputs = (*it)->inputs();
    for (Tensor*& input : inputs)
      if (input == old) input = tensor;
    EC_TRY(const Operation* moved, add_permuted(rewriter, *it, std::move(inputs), perm));
    old = (*it)->output();
    tensor = moved->output();
  }
  rewriter.replace(op, tensor);
  return true;
}

// transpose(reduce(x)) where the reduction drops dimensions -> reduce(transpose(x)), if the
// transpose then finds another one above.
Result<bool> lift_over_dropping_reduce(Rewriter& rewriter, Operation* op) {
  const Operation* reduce = op->input(0)->producer();
  const auto perm = perm_of(op);
  if (reduce == nullptr || !perm || !reduce->attrs().is<ReduceAttrs>() || has_quant(op) ||
      reduce->attrs_as<ReduceAttrs>().keep_dims || !has_single_use(op->input(0)))
    return false;
  const auto axes = reduce_axes(reduce);
  Tensor* x = reduce->input(0);
  if (!axes || axes->empty() || !x->shape()) return false;
  Perm whole = identity_perm(x->shape()->rank());
  std::vector<size_t> kept;
  for (size_t d = 0; d < whole.size(); ++d)
    if (std::find(axes->begin(), axes->end(), static_cast<int64_t>(d)) == axes->end())
      kept.push_back(d);
  if (kept.size() != perm->size()) return false;
  for (size_t i = 0; i < kept.size(); ++i)
    whole[kept[i]] = static_cast<int64_t>(kept[static_cast<size_t>((*perm)[i])]);
  if (chain_to_transpose(x, whole).empty()) return false;
  EC_TRY(Tensor * transposed, rewriter.transpose(x, whole, {op}));
  std::vector<Tensor*> inputs = reduce->inputs();
  inputs[0] = transposed;
  EC_TRY(Tensor * result,
         rewriter.add(reduce->kind(), std::move(inputs), reduce->attrs(), {reduce}));
  rewriter.replace(op, result);
  return true;
}

// transpose(view(transpose(x, p)), q): where the view only splits dimensions, or merges ones that
// are neighbours in x too, p moves over the view and merges with q.
Result<bool> transpose_over_view(Rewriter& rewriter, Operation* op) {
  const Operation* view = op->input(0)->producer();
  if (!is_view(view) || !has_single_use(op->input(0)) || has_quant(op)) return false;
  const Operation* upper = produced_by(view->input(0), OpKind::Transpose);
  if (upper == nullptr || !has_single_use(view->input(0))) return false;
  const auto q = perm_of(op);
  const auto moved = view_before_transpose(upper, view->output());
  if (!q || !moved) return false;
  EC_TRY(Tensor * reshaped, add_reshape(rewriter, upper->input(0), moved->view, {view}));
  if (reshaped == nullptr) return false;
  EC_TRY(Tensor * result,
         add_transposed(rewriter, reshaped, compose(moved->perm, *q), {upper, op}));
  rewriter.replace(op, result);
  return true;
}

class SimplifyTransposes : public Pass {
 public:
  std::string_view name() const override { return kSimplifyTransposesPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    PassStats& stats = rewriter.stats();
    rewriter.push_all();
    while (Operation* op = rewriter.pop()) {
      ++stats.visits;
      EC_TRY(const bool changed, simplify(rewriter, op));
      if (changed) ++stats.changes;
    }
    return std::move(stats);
  }

 private:
  static Result<bool> simplify(Rewriter& rewriter, Operation* op) {
    constexpr RewriteFn kOnTranspose[] = {merge_transposes, lift_to_transpose,
                                          lift_over_dropping_reduce, transpose_over_view,
                                          transpose_to_reshape};
    if (op->kind() == OpKind::MatMul || op->kind() == OpKind::Gemm)
      return merge_into_matmul(rewriter, op);
    if (op->kind() != OpKind::Transpose) return sink_common_transpose(rewriter, op);
    for (const RewriteFn apply : kOnTranspose) {
      EC_TRY(const bool changed, apply(rewriter, op));
      if (changed) return true;
    }
    return false;
  }
};

}  // namespace

const PassInfo kSimplifyTransposesPass{
    .name = "simplify-transposes",
    .summary = "Merges, cancels and moves transposes so that fewer are left.",
    .details =
        "Consecutive transposes merge; those that only move dimensions of size 1 become reshapes; "
        "those of the last two dimensions become attributes of matrix products. A transpose moves "
        "over element-wise operations, concats, slices, pads, reductions, softmax and splitting "
        "reshapes only where it then merges with another one.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<SimplifyTransposes>();
    }};

}  // namespace ec::passes
