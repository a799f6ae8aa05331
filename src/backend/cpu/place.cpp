#include "driver/check.h"

#include <fmt/format.h>

#include <unordered_map>

#include "driver/coral.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/targets.h"
#include "ops/op_def.h"
#include "runtime/prepared_op.h"
#include "runtime/session.h"
#include "support/strings.h"
#include "writer/tflite/tflite.h"

namespace ec {
namespace {

bool is_unsupported(Code code) {
  return code == Code::UnsupportedOp || code == Code::UnsupportedOpForm ||
         code == Code::UnsupportedType;
}

std::string output_type(const Operation& op) {
  return op.outputs().empty() ? "" : op.output()->type().text();
}

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

class Collector {
 public:
  Collector(CheckReport& report, const std::vector<OpTiming>& steps) : report_(report) {
    for (const OpTiming& step : steps) fast_.emplace(step.op, step.fast);
  }

  // `prepared`: the session has chosen kernels for this graph.
  void visit(const Graph& graph, bool prepared) {
    for (const Operation* op : graph.topological()) {
      OpPlacement row;
      row.name = op->location().name();
      row.op = op_name(op->kind());
      row.source_op = op->location().op_type;
      row.output_type = output_type(*op);
      if (!is_native(*op, prepared)) explain_reference(*op, row);
      add(std::move(row));
      for (const auto& body : op->bodies()) visit(*body, false);
    }
  }

  void add(OpPlacement row) { report_.add(std::move(row)); }

 private:
  // A prepared operation without a step is a view or was computed in advance.
  bool is_native(const Operation& op, bool prepared) const {
    if (!prepared) return has_fast_kernel(op.kind()) || op.def().traits.view;
    const auto it = fast_.find(&op);
    return it == fast_.end() || it->second || !op.bodies().empty();
  }

  CheckReport& report_;
  std::unordered_map<const Operation*, bool> fast_;  // looked up, never iterated
};

// Turns what the importer refused into rows. False: there were other faults too.
bool collect_refused(const DiagnosticSink& load, CheckReport& report) {
  Collector collector(report, {});
  bool only_unsupported = true;
  for (const Diagnostic& d : load.diagnostics()) {
    if (d.severity != Severity::Error) continue;
    if (!is_unsupported(d.code)) {
      only_unsupported = false;
      continue;
    }
    OpPlacement row;
    row.name = d.node;
    row.source_op = d.op_type;
    row.placement = Placement::Unsupported;
    row.reason = d.message;
    row.fix = d.hint;
    collector.add(std::move(row));
  }
  return only_unsupported;
}

// What the file's format has operators for.
CheckReport check_written(const Graph& graph, CheckReport report) {
  DiagnosticSink refused;
  // The bytes are not wanted, only what is said on the way.
  const Result<Blob> bytes = encode_tflite(graph, {}, refused);
  std::unordered_map<std::string, const Diagnostic*> reasons;  // looked up, never iterated
  for (const Diagnostic& d : refused.diagnostics()) reasons.emplace(d.node, &d);
  Collector collector(report, {});
  for (const Operation* op : graph.topological()) {
    OpPlacement row;
    row.name = op->location().name();
    row.op = op_name(op->kind());
    row.source_op = op->location().op_type;
    row.output_type = output_type(*op);
    const auto reason = reasons.find(row.name.empty() ? op->output()->name() : row.name);
    if (reason != reasons.end() && reason->second->message.starts_with(row.op + ":")) {
      row.placement = Placement::Unsupported;
      row.reason = reason->second->message;
      row.fix = reason->second->hint;
    }
    collector.add(std::move(row));
  }
  if (report.unsupported == 0 && !bytes.ok()) {
    OpPlacement row;
    row.name = "file";
    row.placement = Placement::Unsupported;
    row.reason = bytes.error().message();
    row.fix = bytes.error().diagnostic().hint;
    collector.add(std::move(row));
  }
  return report;
}

}  // namespace

void CheckReport::add(OpPlacement row) {
  switch (row.placement) {
    case Placement::Native:
      ++native;
      break;
    case Placement::Reference:
      ++reference;
      break;
    case Placement::Host:
      ++host;
      break;
    case Placement::Unsupported:
      ++unsupported;
      break;
  }
  operations.push_back(std::move(row));
}

std::string_view placement_name(Placement placement) {
  switch (placement) {
    case Placement::Native:
      return "native";
    case Placement::Reference:
      return "reference";
    case Placement::Host:
      return "cpu";
    case Placement::Unsupported:
      return "unsupported";
  }
  return "native";
}

Status refuse_host_operations(const CheckReport& report) {
  if (report.host == 0) return {};
  constexpr size_t kNamed = 8;
  Error error(Code::NotOnTarget, fmt::format("{} of {} operations stay on the CPU", report.host,
                                             report.operations.size()));
  error.diagnostic().file = report.model;
  for (const OpPlacement& row : report.operations)
    if (row.placement == Placement::Host && error.diagnostic().notes.size() < kNamed)
      error.diagnostic().notes.push_back(fmt::format("{} '{}': {}; {}", row.source_op,
                                                     printable(row.name, 60), row.reason, row.fix));
  return std::move(error).hint("mend what the notes name, or leave out --strict to accept it");
}

Result<CheckReport> check_model(const std::filesystem::path& path, const CompileOptions& options,
                                DiagnosticSink& sink) {
  CheckReport report;
  report.model = path.string();
  EC_TRY(const TargetInfo* target, find_target(options.target));
  report.target = target->name;
  EC_CHECK_OK(check_target_options(*target, options));
  if (target->name == "coral") {
    if (Status status = check_coral(path, options, report, sink); !status.ok())
      return std::move(status).error().file(path.string());
    return report;
  }
  DiagnosticSink load;
  Result<LoadedModel> model = load_model(path, options, load);
  const bool refused = !model && collect_refused(load, report);
  for (const Diagnostic& d : load.diagnostics())
    if (!refused || d.severity != Severity::Error || !is_unsupported(d.code)) sink.report(d);
  if (refused) return report;
  if (!model) return std::move(model).error();

  EC_TRY([[maybe_unused]] const PipelineReport passes,
         optimize(*model->graph, options, target_pipeline(*target, options, model->format), sink));
  const Graph& graph = *model->graph;
  if (target->name == "tflite") return check_written(graph, std::move(report));
  EC_TRY(const std::unique_ptr<Session> session, Session::create(std::move(model->graph), {}));
  for (const TensorDescription& input : session->inputs())
    report.shapes_open = report.shapes_open || !input.type.is_static();
  Collector(report, session->timings()).visit(graph, !report.shapes_open);
  return report;
}

}  // namespace ec
