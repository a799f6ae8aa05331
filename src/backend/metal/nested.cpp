#include "backend/metal/nested.h"

#include "ops/attrs.h"

namespace ec::metal {
namespace {

// The first operand that a body reads as it is, and its place among the body's inputs.
struct FirstCapture {
  size_t operand = 0, input = 0;
};
FirstCapture first_capture(const Operation& op) {
  if (op.kind() != OpKind::Loop) return {1, 0};
  const auto carried = static_cast<size_t>(op.attrs_as<LoopAttrs>().num_carried);
  return {2 + carried, 2 + carried};
}

}  // namespace

void sink_constants(Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->kind() != OpKind::If && op->kind() != OpKind::Loop) continue;
    const FirstCapture first = first_capture(*op);
    for (const auto& body : op->bodies()) {
      for (size_t i = first.operand; i < op->inputs().size(); ++i) {
        const Tensor* given = op->input(i);
        Tensor* input = body->inputs()[i - first.operand + first.input];
        if (given == nullptr || !given->is_constant() || body->is_unused(input) ||
            input->type() != given->type())
          continue;
        body->replace_all_uses(input, body->add_constant("", given->type(), given->raw_data()));
      }
      sink_constants(*body);
    }
  }
}

}  // namespace ec::metal
