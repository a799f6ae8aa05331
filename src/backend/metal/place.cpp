#include "backend/metal/place.h"

#include <fmt/format.h>

#include <unordered_map>

#include "backend/metal/compute_units.h"
#include "backend/metal/package.h"
#include "ops/op_def.h"

namespace ec::metal {
namespace {

coreml::Metadata metadata_of(const ModelJob& job, const TargetOptions& options) {
  coreml::Metadata metadata;
  metadata.description = job.graph->name().empty() ? job.name : job.graph->name();
  for (const auto& [key, value] : job.provenance)
    metadata.user_defined["edgecompiler." + key] = value;
  // Applications choose; this is what the report supposes.
  metadata.user_defined["edgecompiler.compute_units"] = options.units_name;
  return metadata;
}

OpPlacement row_of(const Operation& op) {
  OpPlacement row;
  row.name = op.location().name();
  row.op = op_name(op.kind());
  row.source_op = op.location().op_type;
  if (!op.outputs().empty()) row.output_type = op.output()->type().text();
  return row;
}

// Operations that cannot be written, by what diagnostics call them.
void mark_problem(const Operation& op,
                  const std::unordered_map<std::string, const Diagnostic*>& problems,
                  OpPlacement& row) {
  std::string name(op.location().name());
  if (name.empty() && !op.outputs().empty()) name = op.output()->name();
  const auto problem = problems.find(name);
  if (problem == problems.end() || !problem->second->message.starts_with(row.op + ":")) return;
  row.placement = Placement::Unsupported;
  row.reason = problem->second->message;
  row.fix = problem->second->hint;
}

// The graph in the precision that is asked for. Recurrent layers take half precision where the
// system is new enough.
Result<std::unique_ptr<Graph>> with_precision(const Graph& graph, const TargetOptions& options,
                                              std::vector<KeptSingle>& kept) {
  std::unique_ptr<Graph> copy = graph.clone();
  if (!options.half_precision) return copy;
  HalfPrecisionOptions half;
  half.half_recurrent = options.lowest_version >= kCoremlIos17;
  EC_TRY(kept, give_half_precision(*copy, half));
  return copy;
}

void add_rows(const ModelJob& job, const Graph& written, const TargetOptions& options,
              const PlacedPackage& package, PlacementReport& report) {
  std::unordered_map<std::string, const Diagnostic*> problems;  // looked up, never iterated
  for (const Diagnostic& d : package.problems) problems.emplace(d.node, &d);
  for (const Operation* op : written.topological()) {
    OpPlacement row = row_of(*op);
    predict_unit(*op, options.units, row);
    mark_problem(*op, problems, row);
    report.add(std::move(row));
  }
  if (package.program || report.unsupported > 0) return;
  OpPlacement row;
  row.name = job.name;
  row.placement = Placement::Unsupported;
  row.reason = package.problems.front().message;
  row.fix = package.problems.front().hint;
  report.add(std::move(row));
}

}  // namespace

Result<PlacedModel> place_model(const ModelJob& job, const TargetOptions& options) {
  auto package = std::make_shared<PlacedPackage>();
  EC_TRY(std::unique_ptr<Graph> written, with_precision(*job.graph, options, package->kept));
  CoremlWriteOptions write;
  write.lowest_version = options.lowest_version;
  write.highest_version = options.highest_version;
  write.metadata = metadata_of(job, options);
  write.labels = options.labels;
  DiagnosticSink refused;
  Result<CoremlProgram> program = write_coreml(*written, write, refused);
  package->problems = refused.diagnostics();
  if (program.ok())
    package->program = std::move(*program);
  else if (refused.error_count() == 0)
    package->problems.push_back(program.error().diagnostic());
  PlacedModel placed;
  add_rows(job, *written, options, *package, placed.report);
  if (options.half_precision) EC_CHECK_OK(give_single_precision(*written));
  package->compared = std::move(written);
  placed.state = std::move(package);
  return placed;
}

}  // namespace ec::metal
