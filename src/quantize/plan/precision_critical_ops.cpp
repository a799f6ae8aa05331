#include "quantize/plan/precision_critical_ops.h"

#include <algorithm>

#include "ops/op_def.h"

namespace ec::quantize {
namespace {

bool is_real(const Tensor* tensor) { return tensor != nullptr && tensor->dtype() == DType::F32; }

bool is_root(const Operation& op) {
  return op.kind() == OpKind::Rsqrt || op.kind() == OpKind::Sqrt ||
         op.kind() == OpKind::Reciprocal || op.kind() == OpKind::Pow;
}

bool is_arithmetic(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
      return true;
    default:
      return false;
  }
}

// What a normalisation is made of, besides the root.
bool computes_norm(const Operation& op) {
  switch (op.kind()) {
    case OpKind::SquaredDifference:
    case OpKind::ReduceMean:
    case OpKind::ReduceSum:
      return true;
    default:
      return is_arithmetic(op);
  }
}

// Rounds real numbers to integers.
bool rounds_to_integer(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Floor:
    case OpKind::Ceil:
    case OpKind::Round:
      return true;
    case OpKind::Cast:
      return is_real(op.input(0)) && is_integer(op.output()->dtype());
    default:
      return false;
  }
}

// Operations that coordinates are computed with.
bool computes_coordinates(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Clip:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::Neg:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Concat:
      return true;
    case OpKind::MatMul:  // of the coordinates of a whole image with a transform
      return op.input(0)->is_constant();
    default:
      return is_arithmetic(op);
  }
}

bool is_comparison(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Equal:
    case OpKind::Less:
    case OpKind::LessOrEqual:
    case OpKind::Greater:
    case OpKind::GreaterOrEqual:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<bool> normalization_ops(const Graph& graph) {
  std::vector<bool> found(graph.operation_id_bound(), false);
  const std::vector<Operation*> order = graph.topological();
  // The root, the product that applies it, and whatever only they read.
  for (const Operation* op : order) {
    if (!is_root(*op) || !is_real(op->output())) continue;
    found[op->id()] = true;
    for (const Use& use : op->output()->uses())
      if (computes_norm(*use.op)) found[use.op->id()] = true;
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Operation* op = *it;
    if (!computes_norm(*op) || graph.is_output(op->output())) continue;
    const auto& uses = op->output()->uses();
    if (!uses.empty() &&
        std::ranges::all_of(uses, [&](const Use& use) { return found[use.op->id()]; }))
      found[op->id()] = true;
  }
  return found;
}

std::vector<bool> coordinate_ops(const Graph& graph) {
  std::vector<bool> found(graph.operation_id_bound(), false);
  const std::vector<Operation*> order = graph.topological();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Operation* op = *it;
    const auto is_coordinate = [&](const Tensor* tensor) {
      return std::ranges::any_of(tensor->uses(), [&](const Use& use) {
        return rounds_to_integer(*use.op) || (found[use.op->id()] && computes_coordinates(*use.op));
      });
    };
    if (rounds_to_integer(*op) || (computes_coordinates(*op) && is_real(op->output()) &&
                                   std::ranges::any_of(op->outputs(), is_coordinate)))
      found[op->id()] = true;
  }
  // Results of coordinates alone: distances to the integers beside them, whether they are inside.
  for (const Operation* op : order) {
    if (!computes_coordinates(*op) && !is_comparison(*op)) continue;
    bool any = false, all = true;
    for (const Tensor* operand : op->inputs()) {
      if (!is_real(operand) || operand->is_constant()) continue;
      const bool coordinate = operand->producer() != nullptr && found[operand->producer()->id()];
      any |= coordinate;
      all &= coordinate;
    }
    if (any && all) found[op->id()] = true;
  }
  return found;
}

}  // namespace ec::quantize
