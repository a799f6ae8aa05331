// If, Loop and Scan. The IR's bodies take captured values as inputs; in ONNX they read the names of
// the graph around them.
#include "writer/onnx/emitter.h"

namespace ec::onnx {
namespace {

// Body inputs [0, formals) are the node's own; the others stand for operands from first_capture on.
Result<std::string> body(OpEmitter& e, size_t index, size_t formals, size_t first_capture) {
  const ec::Graph& graph = *e.op().bodies()[index];
  GraphEmitter inner(e.graph().state(), graph);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ec::Tensor* input = graph.inputs()[i];
    if (i < formals)
      inner.add_input(input, inner.new_name(input->name()));
    else
      inner.bind(input, e.in(first_capture + i - formals));
    // A branch that cannot be run with its operands has general types; readers would refuse it.
    const ec::Tensor* given = i < formals ? nullptr : e.op().input(first_capture + i - formals);
    if (given != nullptr && given->shape() && !input->shape())
      return e.fail("a nested graph cannot be run with its operands");
  }
  std::vector<std::string> outputs;
  for (const std::string& name : graph.output_names()) outputs.push_back(inner.new_name(name));
  inner.plan_outputs(outputs);
  EC_CHECK_OK(inner.emit_operations());
  inner.finish_outputs();
  return inner.finish(graph.name().empty() ? "body" : graph.name()).joined();
}

Status emit_if(OpEmitter& e) {
  EC_TRY(const std::string then_branch, body(e, 0, 0, 1));
  EC_TRY(const std::string else_branch, body(e, 1, 0, 1));
  AttributeList a;
  a.add_graph("then_branch", then_branch);
  a.add_graph("else_branch", else_branch);
  e.node("If", {e.in(0)}, e.outputs(), std::move(a));
  return {};
}

Status emit_loop(OpEmitter& e) {
  const auto carried = static_cast<size_t>(e.attrs<LoopAttrs>().num_carried);
  EC_TRY(const std::string graph, body(e, 0, carried + 2, carried + 2));
  AttributeList a;
  a.add_graph("body", graph);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < carried + 2; ++i) inputs.push_back(e.in(i));
  e.node("Loop", std::move(inputs), e.outputs(), std::move(a));
  return {};
}

Status emit_scan(OpEmitter& e) {
  const auto& attrs = e.attrs<ScanAttrs>();
  const auto formals = static_cast<size_t>(attrs.num_states + attrs.num_scan_inputs);
  EC_TRY(const std::string graph, body(e, 0, formals, formals));
  AttributeList a;
  a.add_graph("body", graph);
  a.add("num_scan_inputs", attrs.num_scan_inputs);
  const auto add_ints = [&](std::string_view name, const std::vector<int64_t>& values) {
    if (!values.empty()) a.add(name, std::span<const int64_t>(values));
  };
  add_ints("scan_input_axes", attrs.input_axes);
  add_ints("scan_input_directions", attrs.input_directions);
  add_ints("scan_output_axes", attrs.output_axes);
  add_ints("scan_output_directions", attrs.output_directions);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < formals; ++i) inputs.push_back(e.in(i));
  e.node("Scan", std::move(inputs), e.outputs(), std::move(a));
  return {};
}

constexpr WriteRow kRows[] = {
    {OpKind::If, emit_if},
    {OpKind::Loop, emit_loop},
    {OpKind::Scan, emit_scan},
};

}  // namespace

const std::span<const WriteRow> kWriteControl = kRows;

}  // namespace ec::onnx
