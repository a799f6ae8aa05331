#include "quantize/measure/kept_in_float.h"

#include <fmt/format.h>

#include "ops/op_def.h"
#include "support/strings.h"

namespace ec::quantize {

void count_operations(const Graph& graph, const Plan& plan, QuantizeReport& report) {
  for (const Operation* op : graph.topological()) {
    const OpPlan& entry = plan.of(op);
    if (entry.integer) {
      ++report.integer_ops;
    } else if (!entry.reason.empty()) {
      ++report.float_ops;
      report.kept_in_float.push_back({std::string(op->location().name()),
                                      std::string(op->def().name), entry.reason, entry.on_purpose});
    }
  }
}

void warn_kept_in_float(const QuantizeReport& report, DiagnosticSink& sink) {
  std::vector<const KeptInFloat*> unwanted;
  for (const KeptInFloat& kept : report.kept_in_float)
    if (!kept.on_purpose) unwanted.push_back(&kept);
  if (unwanted.empty()) return;
  Diagnostic warning(Code::KeptInFloat,
                     fmt::format("{} of {} operations stay in floating point", unwanted.size(),
                                 report.float_ops + report.integer_ops));
  warning.severity = Severity::Warning;
  constexpr size_t kNamed = 10;
  for (size_t i = 0; i < std::min(kNamed, unwanted.size()); ++i) {
    const KeptInFloat& kept = *unwanted[i];
    warning.notes.push_back(
        fmt::format("'{}' ({}): {}", printable(kept.name), kept.op, kept.reason));
  }
  if (unwanted.size() > kNamed)
    warning.notes.push_back(fmt::format("and {} more; --json lists all", unwanted.size() - kNamed));
  sink.report(std::move(warning));
}

}  // namespace ec::quantize
