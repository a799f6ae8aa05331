// fold-shapes: shape arithmetic that inference has followed becomes constants.
//
//   %s = shape(%x)  // x: f32[N,3,8,8]
//   %c = gather(%s, 1)                     ->   3
//   reshape(%y, concat(gather(%s, 0), -1)) ->   reshape(%y, [0,-1])
#include <algorithm>
#include <limits>

#include "ops/convert.h"
#include "passes/folding.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/shapes.h"

namespace ec {
namespace {

Tensor* add_integers(Graph& graph, DType dtype, const Shape& shape,
                     std::span<const int64_t> values) {
  const std::vector<int64_t> sizes = shape.sizes();
  TensorType type(dtype, shape);
  Buffer buffer = Buffer::allocate(static_cast<size_t>(*type.num_bytes()));
  store<int64_t>(MutableView{dtype, sizes, buffer.data(), nullptr}, values);
  return graph.add_constant("", std::move(type), std::move(buffer).to_blob());
}

// The result is an integer tensor whose elements inference knows.
bool fold_known_integers(Rewriter& rewriter, Operation* op) {
  bool changed = false;
  std::vector<Tensor*> constants(op->outputs().size(), nullptr);
  for (size_t i = 0; i < op->outputs().size(); ++i) {
    const Tensor* output = op->output(i);
    if (!is_integer(output->dtype()) && output->dtype() != DType::Bool) continue;
    if (!output->type().is_static()) continue;
    const auto values = int_values(output);
    if (!values || output->type().num_elements() != static_cast<int64_t>(values->size())) continue;
    if (rewriter.graph().is_unused(output)) continue;
    constants[i] = add_integers(rewriter.graph(), output->dtype(), *output->shape(), *values);
    changed = true;
  }
  if (changed) rewriter.replace_results(op, constants);
  return changed;
}

// A reshape target that is not constant, from what is known of the result: sizes, 0 where the
// input's size is copied, and -1 for one that is open.
bool fold_reshape_target(Rewriter& rewriter, Operation* op) {
  if (is_constant(op->input(1))) return false;
  const Tensor* x = op->input(0);
  const std::optional<Shape>& result = op->output()->shape();
  if (!result) return false;
  // What the target tells may be more exact than the result's type: its symbols are the input's.
  Shape to = *result;
  const auto& dims = op->input(1)->dim_values();
  if (dims && dims->size() == to.rank())
    for (size_t i = 0; i < to.rank(); ++i)
      if (!to[i].is_static() && (*dims)[i].is_symbol()) to[i] = (*dims)[i];
  const auto target = reshape_target(x->shape(), to);
  if (!target) return false;
  rewriter.graph().set_attrs(op, ReshapeAttrs{.allow_zero = target->allow_zero});
  rewriter.set_operand(op, 1, rewriter.ints(target->sizes));
  return true;
}

// expand and fill with a computed shape whose result is static.
bool fold_target(Rewriter& rewriter, Operation* op, size_t index) {
  const Tensor* target = op->input(index);
  if (target == nullptr || is_constant(target) || !op->output()->type().is_static()) return false;
  rewriter.set_operand(op, index, rewriter.ints(op->output()->shape()->sizes()));
  return true;
}

// slice(x, starts, ends, axes?, steps?): an end that is the (open) size of its axis is "to the
// end".
bool fold_slice_ends(Rewriter& rewriter, Operation* op) {
  const Tensor* ends = op->input(2);
  if (is_constant(ends) || !ends->dim_values() || !op->input(0)->shape()) return false;
  const Shape& shape = *op->input(0)->shape();
  const std::vector<Dim>& dims = *ends->dim_values();
  std::vector<int64_t> axes;
  if (op->input(3) != nullptr) {
    const auto given = int_values(op->input(3));
    if (!given || given->size() != dims.size()) return false;
    axes = *given;
  } else {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> values;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<size_t>(positive_axis(axes[i], shape.rank()));
    if (axis >= shape.rank()) return false;
    if (dims[i].is_static())
      values.push_back(dims[i].size());
    else if (dims[i].same_size(shape[axis]))
      values.push_back(std::numeric_limits<int64_t>::max());
    else
      return false;
  }
  rewriter.set_operand(op, 2, add_integers(rewriter.graph(), DType::I64, *ends->shape(), values));
  return true;
}

}  // namespace

bool fold_shape(Rewriter& rewriter, Operation* op) {
  switch (op->kind()) {
    case OpKind::Reshape:
      if (fold_reshape_target(rewriter, op)) return true;
      break;
    case OpKind::Expand:
      if (fold_target(rewriter, op, 1)) return true;
      break;
    case OpKind::Slice:
      if (fold_slice_ends(rewriter, op)) return true;
      break;
    default:
      break;
  }
  return fold_known_integers(rewriter, op);
}

namespace passes {
namespace {

class FoldShapes : public Pass {
 public:
  std::string_view name() const override { return kFoldShapesPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    PassStats& stats = rewriter.stats();
    rewriter.push_all();
    while (Operation* op = rewriter.pop()) {
      ++stats.visits;
      if (fold_shape(rewriter, op)) ++stats.changes;
    }
    return std::move(stats);
  }
};

}  // namespace

const PassInfo kFoldShapesPass{
    .name = "fold-shapes",
    .summary = "Turns shape arithmetic that inference can follow into constants.",
    .details =
        "Results of shape, size, gather, concat and arithmetic on sizes become constants "
        "when all sizes are known. Targets of reshape may have one open size (-1) and any "
        "number of sizes copied from the input (0); ends of slices that are the size of "
        "their axis become open ends.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<FoldShapes>();
    }};

}  // namespace passes
}  // namespace ec
