#include "backend/cpu/place.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "runtime/prepared_op.h"
#include "runtime/session.h"
#include "support/strings.h"

namespace ec {
namespace {

// Why an operation has no fast kernel here.
void explain_reference(const Operation& op, OpPlacement& row) {
  row.placement = Placement::Reference;
  const std::string_view name = op_name(op.kind());
  if (!has_fast_kernel(op.kind())) {
    row.reason = fmt::format("no fast kernel for {}", name);
    row.fix = "results are right; `edgecompile bench --per-op` tells whether the time matters";
    return;
  }
  const Tensor* first = op.input(0) ? op.input(0) : op.outputs().empty() ? nullptr : op.output();
  if (first && first->dtype() != DType::F32) {
    row.reason = fmt::format("fast kernels of {} compute in f32, this one in {}", name,
                             dtype_name(first->dtype()));
    row.fix = "export the model in float32";
  } else if (first && !first->type().is_static()) {
    row.reason = "the shape depends on data";
    row.fix = "its kernel is chosen when the shape is known";
  } else {
    row.reason = fmt::format("no fast kernel of {} takes this form", name);
    row.fix = "results are right; `edgecompile bench --per-op` tells whether the time matters";
  }
}

void refuse_custom(const Operation& op, OpPlacement& row) {
  row.placement = Placement::Unsupported;
  row.reason = fmt::format("no kernel for the custom operator '{}'",
                           printable(op.attrs_as<CustomAttrs>().code));
  row.fix =
      "only the runtime that it was written for can run it: use that one, or cut the model before "
      "it";
}

class Collector {
 public:
  Collector(PlacementReport& report, const std::vector<OpTiming>& steps) : report_(report) {
    for (const OpTiming& step : steps) fast_.emplace(step.op, step.fast);
  }

  // `prepared`: the session has chosen kernels for this graph.
  void visit(const Graph& graph, bool prepared) {
    for (const Operation* op : graph.topological()) {
      OpPlacement row;
      row.name = op->location().name();
      row.op = op_name(op->kind());
      row.source_op = op->location().op_type;
      if (!op->outputs().empty()) row.output_type = op->output()->type().text();
      if (op->kind() == OpKind::Custom)
        refuse_custom(*op, row);
      else if (!is_native(*op, prepared))
        explain_reference(*op, row);
      report_.add(std::move(row));
      for (const auto& body : op->bodies()) visit(*body, false);
    }
  }

 private:
  // A prepared operation without a step is a view or was computed in advance.
  bool is_native(const Operation& op, bool prepared) const {
    if (!prepared) return has_fast_kernel(op.kind()) || op.def().traits.view;
    const auto it = fast_.find(&op);
    return it == fast_.end() || it->second || !op.bodies().empty();
  }

  PlacementReport& report_;
  std::unordered_map<const Operation*, bool> fast_;  // looked up, never iterated
};

}  // namespace

Result<PlacementReport> place_on_cpu(const Graph& graph) {
  std::unique_ptr<Graph> copy = graph.clone();
  const Graph& prepared = *copy;
  SessionOptions options;
  options.plan_only = true;
  EC_TRY(const std::unique_ptr<Session> session, Session::create(std::move(copy), options));
  PlacementReport report;
  for (const TensorDescription& input : session->inputs())
    report.shapes_open = report.shapes_open || !input.type.is_static();
  Collector(report, session->timings()).visit(prepared, !report.shapes_open);
  return report;
}

}  // namespace ec
