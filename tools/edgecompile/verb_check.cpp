// check and doctor: what would run here, and what is here.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli.h"
#include "driver/doctor.h"
#include "driver/jobs.h"
#include "placement_text.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {

Status run_check(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::string& model = settings.arguments.front();
  EC_TRY(const PlacementReport report,
         check_model(default_registry(), model, settings.options, sink));
  if (settings.wants_json()) output.json = placement_json(report);
  if (!settings.quiet) {
    output.text = placement_table(report, settings.verbosity > 0);
    output.text += device_text(report);
    if (!report.estimate)
      output.text += fmt::format(
          "\n  {} on {}: {} native, {} reference, {} unsupported{}\n", printable(model),
          report.target, report.native, report.reference, report.unsupported,
          report.shapes_open ? " (by kind: sizes are open, give them with --input-shape)" : "");
    output.text += fixes_text(report);
  }
  if (report.unsupported > 0)
    return Error(Code::NotOnTarget, fmt::format("{} of {} operations cannot run",
                                                report.unsupported, report.operations.size()))
        .file(model)
        .hint("the table names each with its reason and fix");
  return settings.options.flag("strict") ? refuse_host_operations(report) : Status();
}

Status run_doctor(const Settings& settings, Output& output, DiagnosticSink&) {
  nlohmann::ordered_json json;
  TextTable table({"Fact", "Value"});
  for (const Fact& fact : doctor_facts(default_registry())) {
    json[fact.key] = fact.value;
    table.add({fact.label, fact.value});
  }
  if (!settings.quiet) output.text = table.text("");
  output.json = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return {};
}

}  // namespace ec::cli
