#include "quantize/kept_in_float.h"

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
      report.kept_in_float.push_back(
          {std::string(op->location().name()), std::string(op->def().name), entry.reason});
    }
  }
}

void warn_kept_in_float(const QuantizeReport& report, DiagnosticSink& sink) {
  if (report.float_ops == 0) return;
  Diagnostic warning(Code::KeptInFloat,
                     fmt::format("{} of {} operations stay in floating point", report.float_ops,
                                 report.float_ops + report.integer_ops));
  warning.severity = Severity::Warning;
  constexpr size_t kNamed = 10;
  for (size_t i = 0; i < std::min(kNamed, report.kept_in_float.size()); ++i) {
    const KeptInFloat& kept = report.kept_in_float[i];
    warning.notes.push_back(
        fmt::format("'{}' ({}): {}", printable(kept.name), kept.op, kept.reason));
  }
  if (report.kept_in_float.size() > kNamed)
    warning.notes.push_back(
        fmt::format("and {} more; --json lists all", report.kept_in_float.size() - kNamed));
  sink.report(std::move(warning));
}

}  // namespace ec::quantize
