#include "report/kept.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "ops/op_def.h"

namespace ec {

void refuse_kept(PlacementReport& report, const std::vector<KeptOperation>& kept) {
  if (kept.empty()) return;
  std::multimap<std::pair<std::string, std::string>, const KeptOperation*> open;
  for (const KeptOperation& operation : kept)
    open.emplace(std::pair(operation.problem.node, operation.problem.op_type), &operation);
  const auto refuse = [](OpPlacement& row, const KeptOperation& operation) {
    row.placement = Placement::Unsupported;
    row.status = operation.unjudged ? "not judged" : "";
    row.reason = operation.problem.message;
    row.fix = operation.problem.hint;
    row.output_type.clear();
  };
  std::vector<OpPlacement> rows = std::move(report.operations);
  report.clear();
  for (OpPlacement& row : rows) {
    const auto found = row.op.empty() || row.op == op_name(OpKind::Custom)
                           ? open.find({row.name, row.source_op})
                           : open.end();
    if (found != open.end()) {
      refuse(row, *found->second);
      open.erase(found);
    }
    report.add(std::move(row));
  }
  // Passes may have removed what nothing reads; the model cannot be imported all the same.
  for (const KeptOperation& operation : kept) {
    const auto found = open.find({operation.problem.node, operation.problem.op_type});
    if (found == open.end()) continue;
    open.erase(found);
    OpPlacement row;
    row.name = operation.problem.node;
    row.source_op = operation.problem.op_type;
    refuse(row, operation);
    report.add(std::move(row));
  }
}

void explain_kept(ModelSummary& summary, const std::vector<KeptOperation>& kept) {
  if (kept.empty()) return;
  std::map<std::pair<std::string_view, std::string_view>, const KeptOperation*> known;
  for (const KeptOperation& operation : kept)
    known.emplace(std::pair<std::string_view, std::string_view>(operation.problem.node,
                                                                operation.problem.op_type),
                  &operation);
  std::set<std::string_view> refused;
  for (LayerSummary& layer : summary.layers) {
    if (layer.problem.empty()) continue;
    const auto found = known.find({layer.name, layer.source_op});
    if (found != known.end()) layer.problem = found->second->problem.message;
    if (found == known.end() || !found->second->unjudged)
      refused.insert(layer.op);
    else
      --summary.unsupported;
  }
  for (OpSummary& op : summary.ops) op.supported = op.supported || !refused.contains(op.name);
}

void warn_of_kept(const std::vector<KeptOperation>& operations, const std::string& file,
                  DiagnosticSink& sink) {
  std::vector<Diagnostic> warnings;
  std::vector<size_t> more;
  std::map<std::pair<std::string, std::string>, size_t> seen;
  for (const KeptOperation& kept : operations) {
    if (kept.unjudged) continue;
    const auto [at, is_new] =
        seen.emplace(std::pair(kept.problem.op_type, kept.problem.message), warnings.size());
    if (!is_new) {
      ++more[at->second];
      continue;
    }
    warnings.push_back(kept.problem);
    warnings.back().severity = Severity::Warning;
    warnings.back().file = file;
    more.push_back(0);
  }
  for (size_t i = 0; i < warnings.size(); ++i) {
    if (more[i] > 0)
      warnings[i].notes.push_back(fmt::format("{} more operations have this problem", more[i]));
    sink.report(std::move(warnings[i]));
  }
}

}  // namespace ec
