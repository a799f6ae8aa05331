// check and doctor: what would run here, and what is here.
#include <fmt/format.h>

#include "api/doctor.h"
#include "cli.h"
#include "driver/jobs.h"
#include "edgecompiler/report.h"
#include "placement_text.h"
#include "report/describe_placement.h"
#include "report/placement.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {

namespace {

std::string target_text(const PlacementReport& report, int verbosity) {
  if (report.refused)
    return fmt::format("  {}\n  {}\n", report.refused->message, report.refused->hint);
  std::string out = placement_table(report, verbosity > 0) + device_text(report);
  if (!report.estimate)
    out += fmt::format(
        "\n  {} on {}: {} native, {} reference, {} unsupported{}\n", printable(report.model),
        report.target, report.native, report.reference, report.unsupported,
        report.shapes_open ? " (by kind: sizes are open, give them with --input-shape)" : "");
  return out + costs_text(report) + fixes_text(report);
}

Status check_one(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const PlacementReport report,
         check_model(default_registry(), settings.arguments.front(), settings.options, sink));
  if (settings.wants_json()) output.json = to_json(report);
  if (!settings.quiet) output.text = target_text(report, settings.verbosity);
  if (report.unsupported > 0)
    return Error(Code::NotOnTarget, fmt::format("{} of {} operations cannot run",
                                                report.unsupported, report.operations.size()))
        .file(report.model)
        .hint("the table names each with its reason and fix");
  return settings.options.flag("strict") ? refuse_host_operations(report) : Status();
}

// A table of all targets, then what each tells.
std::string all_text(const CheckReport& report, int verbosity) {
  std::string out = report_table(report.targets,
                                 {"target", "runs", "native", "reference", "host", "unsupported"});
  for (const PlacementReport& target : report.targets)
    out += fmt::format("\n{}\n{}", target.target, target_text(target, verbosity));
  return out;
}

Status check_all(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const CheckReport report,
         check_all_targets(default_registry(), settings.arguments.front(), settings.options, sink));
  if (settings.wants_json()) output.json = to_json(report);
  if (!settings.quiet) output.text = all_text(report, settings.verbosity);
  return refuse_untaken(report, settings.options.flag("strict"));
}

}  // namespace

Status run_check(const Settings& settings, Output& output, DiagnosticSink& sink) {
  return settings.options.is_given("target") ? check_one(settings, output, sink)
                                             : check_all(settings, output, sink);
}

Status run_doctor(const Settings& settings, Output& output, DiagnosticSink&) {
  const MachineReport machine = machine_report(default_registry());
  const auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : join(names, ", ");
  };
  TextTable table({"Fact", "Value"});
  table.add({"edgecompile", machine.version});
  table.add({"system", machine.system});
  table.add({"processor", machine.cpu_model});
  table.add({"hardware threads", std::to_string(machine.cpu_threads)});
  table.add({"kernels for", join(machine.kernels, ", also ")});
  table.add({"level-2 cache", format_bytes(machine.l2_bytes)});
  table.add({"memory", fmt::format("{}, {} free", format_bytes(machine.memory_bytes),
                                   format_bytes(machine.memory_free_bytes))});
  table.add({"reads", listed(machine.formats_read)});
  table.add({"writes", listed(machine.formats_written)});
  table.add({"targets", listed(machine.targets)});
  table.add({"not in this build", listed(machine.targets_absent)});
  for (const Fact& fact : machine.devices) table.add({fact.label, fact.value});
  if (!settings.quiet) output.text = table.text("");
  output.json = to_json(machine);
  return {};
}

}  // namespace ec::cli
