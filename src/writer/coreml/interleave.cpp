#include "writer/coreml/interleave.h"

#include <algorithm>
#include <vector>

#include "ops/attrs.h"

namespace ec::mil {
namespace {

// The producer, where it is of this kind and nothing else reads its result.
const Operation* only_source(const Graph& graph, const Operation* op, OpKind kind) {
  const Tensor* input = op->input(0);
  const Operation* source = input->producer();
  if (source == nullptr || source->kind() != kind || input->uses().size() != 1) return nullptr;
  return std::ranges::find(graph.outputs(), input) == graph.outputs().end() ? source : nullptr;
}

bool has_sizes(const Tensor* tensor, const std::vector<int64_t>& sizes) {
  return tensor->shape() && tensor->shape()->is_static() && tensor->shape()->sizes() == sizes;
}

// Pictures that are joined along their channels, equally many of each.
bool joins_alike(const Operation& concat) {
  const Tensor* first = concat.input(0);
  if (!first->shape() || !first->shape()->is_static() || first->shape()->rank() != 4) return false;
  const int64_t axis = concat.attrs_as<AxisAttrs>().axis;
  const std::vector<int64_t> sizes = first->shape()->sizes();
  return (axis == 1 || axis == -3) &&
         std::ranges::all_of(concat.inputs(), [&](const Tensor* x) { return has_sizes(x, sizes); });
}

}  // namespace

Interleavings find_interleavings(const Graph& graph) {
  Interleavings found;
  for (const Operation* last : graph.topological()) {
    if (last->kind() != OpKind::Reshape) continue;
    const Operation* transpose = only_source(graph, last, OpKind::Transpose);
    if (transpose == nullptr ||
        transpose->attrs_as<TransposeAttrs>().perm != std::vector<int64_t>{0, 2, 1, 3, 4})
      continue;
    const Operation* first = only_source(graph, transpose, OpKind::Reshape);
    const Operation* concat =
        first != nullptr ? only_source(graph, first, OpKind::Concat) : nullptr;
    if (concat == nullptr || !joins_alike(*concat)) continue;
    const std::vector<int64_t> part = concat->input(0)->shape()->sizes();
    const auto count = static_cast<int64_t>(concat->inputs().size());
    if (!has_sizes(first->output(), {part[0], count, part[1], part[2], part[3]}) ||
        !has_sizes(last->output(), {part[0], count * part[1], part[2], part[3]}))
      continue;
    found.concats.emplace(last, concat);
    for (const Operation* inner : {transpose, first, concat}) found.inner.insert(inner);
  }
  return found;
}

}  // namespace ec::mil
