// move-reshapes: reshapes around matrix products and transposes move to where they meet others.
//
//   matmul(reshape(%x: [2,5,8], [10,8]), %w)       -> reshape(matmul(%x, %w), [10,n])
//   matmul(reshape(%a, [6,5,8]), reshape(%b, ...)) -> reshape(matmul(%a, %b), [6,5,n])
//   reshape(transpose(reshape(%x)))                -> transpose(reshape(%x))
#include <algorithm>

#include "ops/op_def.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec::passes {
namespace {

bool is_linear(const Operation* op) {
  return op->kind() == OpKind::MatMul && !has_quant(op) && rank_of(op->input(0)) >= 2 &&
         rank_of(op->input(1)) == 2 && !op->attrs_as<MatMulAttrs>().transpose_a;
}

// Some reader takes up a view in front of it: another view, or broadcasting that supplies leading
// dimensions.
bool is_read_with_view(const Tensor* tensor) {
  return std::any_of(tensor->uses().begin(), tensor->uses().end(), [&](const Use& use) {
    if (is_view(use.op)) return true;
    return use.op->def().traits.elementwise && use.op->inputs().size() == 2 &&
           rank_of(use.op->output()) > rank_of(tensor);
  });
}

// A linear layer works on the last dimension, whatever the others are.
Result<bool> view_before_linear(Rewriter& rewriter, Operation* op) {
  if (!is_linear(op)) return false;
  const Tensor* flat = op->input(0);
  Tensor* x = source_keeping_last(flat, 1);
  if (x == nullptr || x->shape()->rank() < 2 || !is_read_with_view(op->output())) return false;
  // Unless every reader moves, the view stays and one more follows.
  if (rewriter.graph().is_output(flat)) return false;
  for (const Use& use : flat->uses())
    if (!is_linear(use.op) || use.index != 0) return false;
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = x;
  EC_TRY(Tensor * product, rewriter.add(OpKind::MatMul, std::move(inputs), op->attrs(), {op}));
  EC_TRY(Tensor * result,
         add_reshape(rewriter, product, *op->output()->shape(), {flat->producer()}));
  if (result == nullptr) {
    rewriter.erase_if_unused(product);
    return false;
  }
  rewriter.replace(op, result);
  return true;
}

// Both operands of a batched product are views that only count the matrices differently.
Result<bool> views_before_batched(Rewriter& rewriter, Operation* op) {
  if (has_quant(op) || op->input(2) != nullptr) return false;
  Tensor* operands[] = {op->input(0), op->input(1)};
  const auto a = static_shape(operands[0]), b = static_shape(operands[1]);
  if (!a || !b || a->size() < 3 || a->size() != b->size()) return false;
  if (!std::equal(a->begin(), a->end() - 2, b->begin())) return false;
  // The batch that one of the sources has; the shorter one, so that the other loses dimensions.
  Shape batch;
  for (const Tensor* operand : operands) {
    if (!is_view(operand->producer()) || !has_single_use(operand)) return false;
    const Tensor* source = source_keeping_last(operand, 2);
    if (source == nullptr || source->shape()->rank() < 3) continue;
    std::vector<Dim> dims(source->shape()->dims().begin(), source->shape()->dims().end() - 2);
    if (batch.rank() == 0 || dims.size() < batch.rank()) batch = Shape(std::move(dims));
  }
  if (batch.rank() == 0) return false;
  if (std::equal(a->begin(), a->end() - 2, batch.dims().begin(), batch.dims().end(),
                 [](int64_t size, const Dim& dim) { return Dim(size) == dim; }))
    return false;
  for (Tensor*& operand : operands) {
    Operation* view = operand->producer();
    Shape shape = batch;
    for (size_t i = a->size() - 2; i < a->size(); ++i) shape.push_back((*operand->shape())[i]);
    Tensor* source = view->input(0);
    if (same_shape(shape, *source->shape())) {
      operand = source;
      continue;
    }
    EC_TRY(operand, add_reshape(rewriter, source, shape, {view}));
  }
  EC_TRY(Tensor * product,
         rewriter.add(OpKind::MatMul, {operands[0], operands[1]}, op->attrs(), {op}));
  EC_TRY(Tensor * result, add_reshape(rewriter, product, *op->output()->shape(),
                                      {op->input(0)->producer(), op->input(1)->producer()}));
  rewriter.replace(op, result);
  return true;
}

// view(transpose(view(x))) -> transpose(view(x)): the two views are one.
Result<bool> view_behind_transpose(Rewriter& rewriter, Operation* op) {
  const Operation* transpose = produced_by(op->input(0), OpKind::Transpose);
  if (transpose == nullptr || has_quant(op) || !has_single_use(op->input(0))) return false;
  const Operation* upper = transpose->input(0)->producer();
  if (!is_view(upper) || has_quant(upper) || !has_single_use(transpose->input(0))) return false;
  const auto moved = view_before_transpose(transpose, op->output());
  if (!moved) return false;
  Tensor* x = upper->input(0);
  if (!x->shape() || !same_shape(*x->shape(), moved->view)) {
    EC_TRY(x, add_reshape(rewriter, x, moved->view, {upper, op}));
    if (x == nullptr) return false;
  }
  EC_TRY(Tensor * result, rewriter.transpose(x, moved->perm, {transpose}));
  rewriter.replace(op, result);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::MatMul, view_before_linear, "moved over linear layers"},
    {OpKind::MatMul, views_before_batched, "moved over batched products"},
    {OpKind::Reshape, view_behind_transpose, "moved over transposes"},
    {OpKind::Flatten, view_behind_transpose, "moved over transposes"},
    {OpKind::Squeeze, view_behind_transpose, "moved over transposes"},
    {OpKind::Unsqueeze, view_behind_transpose, "moved over transposes"},
};

}  // namespace

const PassInfo kMoveReshapesPass{
    .name = "move-reshapes",
    .summary = "Moves reshapes over matrix products and transposes to where they merge.",
    .details =
        "Exporters flatten the operands of products to matrices and give the results their shape "
        "again. A reshape that keeps the last dimension moves behind a linear layer, one that only "
        "counts matrices differently behind a batched product, and one behind a transpose in front "
        "of it where another reshape is. The number of operations never grows. Static shapes only.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kMoveReshapesPass.name, kRules);
    }};

}  // namespace ec::passes
