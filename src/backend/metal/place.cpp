#include "backend/metal/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/costs.h"
#include "backend/metal/compress/compress.h"
#include "backend/metal/compute_units.h"
#include "backend/metal/estimate.h"
#include "backend/metal/flexible.h"
#include "backend/metal/images.h"
#include "backend/metal/measure/limit.h"
#include "backend/metal/nested.h"
#include "backend/metal/package.h"
#include "backend/metal/passes/legalise.h"
#include "backend/metal/passes/rules.h"
#include "backend/metal/states.h"
#include "frontend/flexible_shapes.h"
#include "ops/op_def.h"
#include "passes/rewriter.h"
#include "support/budget.h"
#include "support/strings.h"

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

// What the user knows the operation by: casts and others between the model's own go by what they
// read.
std::string source_name(const Operation& op) {
  const Operation* at = &op;
  while (at->location().name().empty()) {
    const Tensor* from = nullptr;
    for (const Tensor* input : at->inputs()) {
      if (input == nullptr || input->is_constant()) continue;
      from = input;
      break;
    }
    if (from == nullptr) return {};
    if (from->producer() == nullptr) return from->name();
    at = from->producer();
  }
  return std::string(at->location().name());
}

OpPlacement row_of(const Operation& op) {
  OpPlacement row;
  row.name = source_name(op);
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

// What stays in single precision tells why, and no option helps.
void mark_kept(const std::vector<KeptSingle>& kept, OpPlacement& row) {
  const auto found = std::ranges::find_if(
      kept, [&](const KeptSingle& k) { return k.op == row.op && k.name == row.name; });
  if (found == kept.end()) return;
  row.reason = "stays in single precision: " + found->reason;
  row.fix.clear();
}

// What users should know of the package beside its operations.
void tell(const PlacedPackage& package, DiagnosticSink& sink) {
  if (!package.program) return;
  const CoremlSummary& summary = package.program->summary;
  const auto remark = [&](std::string message, std::string hint) {
    Diagnostic d;
    d.code = Code::NotOnTarget;
    d.severity = Severity::Remark;
    d.message = std::move(message);
    d.hint = std::move(hint);
    sink.report(std::move(d));
  };
  if (!summary.version_reason.empty())
    remark(fmt::format("the package needs {}: {}", coreml_system(summary.version),
                       summary.version_reason),
           "");
  for (const std::string& state : package.states)
    remark(state, "Core ML keeps state in half precision, from zeros");
  for (const auto& [from, to] : summary.renamed)
    remark(fmt::format("'{}' is called '{}' in the package", printable(from), to),
           "names of packages are letters, digits and _");
}

// Operations of branches and loops have rows where they cannot be written.
void add_nested_problems(const Graph& body,
                         const std::unordered_map<std::string, const Diagnostic*>& problems,
                         PlacementReport& report) {
  for (const Operation* op : body.topological()) {
    OpPlacement row = row_of(*op);
    mark_problem(*op, problems, row);
    if (row.placement == Placement::Unsupported) report.add(std::move(row));
    for (const auto& inner : op->bodies()) add_nested_problems(*inner, problems, report);
  }
}

void add_rows(const ModelJob& job, const Graph& judged, const TargetOptions& options,
              const PlacedPackage& package, PlacementReport& report) {
  const bool in_range = std::ranges::any_of(
      flexible_inputs(judged), [](const FlexibleInput& input) { return !input.sizes.is_listed(); });
  std::unordered_map<std::string, const Diagnostic*> problems;  // looked up, never iterated
  for (const Diagnostic& d : package.problems) problems.emplace(d.node, &d);
  for (const Operation* op : judged.topological()) {
    OpPlacement row = row_of(*op);
    predict_unit(*op, options.units, row, in_range);
    mark_kept(package.kept, row);
    mark_problem(*op, problems, row);
    if (is_told(*op) || row.placement == Placement::Unsupported) report.add(std::move(row));
  }
  report.estimate = estimate_run(judged, package.parameter_bytes, report);
  for (const Operation* op : judged.topological())
    for (const auto& body : op->bodies()) add_nested_problems(*body, problems, report);
  if (package.program || report.unsupported > 0) return;
  OpPlacement row;
  row.name = job.name;
  row.placement = Placement::Unsupported;
  row.reason = package.problems.front().message;
  row.fix = package.problems.front().hint;
  report.add(std::move(row));
}

// What the steps before made of constants alone, computed now: a reader would compute it in the
// precision of the program.
Status fold_constants(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (Operation* op : graph.topological()) {
    for (const auto& body : op->bodies()) EC_CHECK_OK(fold_constants(*body, context));
    if (op->kind() == OpKind::Dequantize || op->kind() == OpKind::Quantize ||
        op->outputs().size() != 1 || !op->bodies().empty() || op->inputs().empty() ||
        op->def().traits.random)
      continue;
    if (std::ranges::any_of(op->inputs(),
                            [](const Tensor* x) { return x == nullptr || !x->is_constant(); }))
      continue;
    EC_TRY(Tensor * value, rewriter.add_folded(op->kind(), op->inputs(), op->attrs()));
    if (value->is_constant())
      rewriter.replace(op, value);
    else
      rewriter.erase_if_unused(value);
  }
  return {};
}

// What sessions do not need: floats in place of integers with scales, images and types that
// packages take, and the forms of what that leaves.
Result<std::vector<CoremlImageInput>> give_package_form(Graph& graph, const TargetOptions& options,
                                                        PlacedPackage& package) {
  PassContext context;
  PassStats stats;
  EC_CHECK_OK(passes::simulate_integers(graph, context, stats));
  EC_TRY(std::vector<CoremlImageInput> images, give_image_inputs(graph));
  EC_CHECK_OK(passes::give_interface_types(graph, stats));
  EC_TRY([[maybe_unused]] const PassStats legal,
         run_on_all_graphs(*passes::make_legalise_mil(options.has_attention()), graph, context));
  EC_CHECK_OK(fold_constants(graph, context));
  sink_constants(graph);
  // Behind legalising, which computes in single precision.
  EC_TRY(package.states, give_half_states(graph));
  return images;
}

struct PackageNumbers {
  std::vector<CompressedWeight> weights;
  std::vector<FormCost> costs;
};

// The limit that this package is held to. Quantisation has held its own where it had statistics in
// the place of samples. CalibrationDataNeeded: there is nothing to measure on.
Result<quantize::AccuracyBudget> limit_of(const ModelJob& job, const TargetOptions& options) {
  const quantize::AccuracyBudget limit{options.max_drop, options.min_sqnr};
  const bool costs = options.half_precision || options.weights.compresses();
  if (!limit.asked() || !costs) return quantize::AccuracyBudget();
  if (job.samples != nullptr) return limit;
  if (job.graph->metadata().contains("quantization")) return quantize::AccuracyBudget();
  return Error(Code::CalibrationDataNeeded,
               "a limit of accuracy needs examples of the model's input, and none were given")
      .hint("pass a folder of images, a .npy or .npz file with --calibration-data PATH");
}

// Half precision and compressed weights, with what they cost.
Result<PackageNumbers> give_numbers(const ModelJob& job, const TargetOptions& options,
                                    Graph& written, CoremlWriteOptions& write,
                                    PlacedPackage& package) {
  PackageNumbers numbers;
  EC_TRY(const quantize::AccuracyBudget asked, limit_of(job, options));
  const bool compresses = options.weights.compresses();
  std::optional<Trial> trial;
  if ((job.measures || asked.asked()) && (options.half_precision || compresses))
    trial.emplace(written, job, write.images, asked);
  EC_CHECK_OK(check_budget());
  std::optional<AccuracyLimit> limit;
  if (trial && asked.asked()) limit.emplace(*trial, asked);
  if (options.half_precision) {
    HalfPrecisionOptions half;
    // Recurrent layers take half precision where the system is new enough.
    half.half_recurrent = options.lowest_version >= kCoremlIos17;
    if (trial) half.overflows = trial->overflows();
    if (limit) EC_CHECK_OK(limit->keep_single(written, half));
    EC_TRY(package.kept, give_half_precision(written, half));
    if (trial) numbers.costs.push_back(trial->cost_of(written, "half precision"));
  }
  package.parameter_bytes = constant_bytes(written);
  if (!compresses) return numbers;
  CompressOptions left;
  if (limit) {
    EC_TRY(left.left, limit->leave_weights(written, options.weights));
  }
  EC_TRY(CompressedWeights compressed, compress_weights(written, options.weights, left));
  for (const CompressedWeight& weight : compressed.told)
    package.parameter_bytes -= weight.bytes_before - weight.bytes_after;
  if (trial && !compressed.told.empty())
    numbers.costs.push_back(trial->cost_of(written, options.half_precision
                                                        ? "half precision with compressed weights"
                                                        : "compressed weights"));
  write.stored = std::move(compressed.stored);
  numbers.weights = std::move(compressed.told);
  return numbers;
}

}  // namespace

Result<PlacedModel> place_model(const ModelJob& job, const TargetOptions& options,
                                DiagnosticSink& sink) {
  auto package = std::make_shared<PlacedPackage>();
  std::unique_ptr<Graph> written = job.graph->clone();
  CoremlWriteOptions write;
  EC_TRY(write.images, give_package_form(*written, options, *package));
  EC_TRY(PackageNumbers numbers, give_numbers(job, options, *written, write, *package));
  write.lowest_version = options.lowest_version;
  write.highest_version = options.highest_version;
  write.metadata = metadata_of(job, options);
  write.labels = options.labels;
  write.flexible = open_features(*written);
  package->checked = checked_shapes(*written);
  DiagnosticSink refused;
  Result<CoremlProgram> program = write_coreml(*written, write, refused);
  package->problems = refused.diagnostics();
  if (program.ok())
    package->program = std::move(*program);
  else if (refused.error_count() == 0)
    package->problems.push_back(program.error().diagnostic());
  tell(*package, sink);
  PlacedModel placed;
  // Predictions and estimates are for the default of open sizes.
  std::unique_ptr<Graph> fixed;
  if (const auto inputs = flexible_inputs(*written); !inputs.empty()) {
    EC_TRY(fixed, with_shapes(*written, admitted_shapes(inputs).front()));
  }
  add_rows(job, fixed != nullptr ? *fixed : *written, options, *package, placed.report);
  placed.report.compressed_weights = std::move(numbers.weights);
  placed.report.costs = std::move(numbers.costs);
  // States are halves in every precision.
  EC_CHECK_OK(give_single_precision(*written));
  package->compared = std::move(written);
  placed.state = std::move(package);
  return placed;
}

}  // namespace ec::metal
