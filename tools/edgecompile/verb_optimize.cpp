// optimize, quantize and compile: rewrite a model and write the result.
#include <fmt/format.h>

#include <algorithm>

#include "cli.h"
#include "driver/jobs.h"
#include "edgecompiler/report.h"
#include "placement_text.h"
#include "quantize_text.h"
#include "report/describe_compile.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

std::string change_table(const CompileReport& report) {
  TextTable table({"Operation", "Before", "After"});
  std::vector<std::string> names;
  const auto count_of = [](const ModelSummary& summary, const std::string& name) {
    for (const OpSummary& op : summary.ops)
      if (op.name == name) return op.count;
    return int64_t{0};
  };
  for (const ModelSummary* summary : {&report.before, &report.after})
    for (const OpSummary& op : summary->ops)
      if (std::find(names.begin(), names.end(), op.name) == names.end()) names.push_back(op.name);
  for (const std::string& name : names)
    table.add({name, format_count(count_of(report.before, name)),
               format_count(count_of(report.after, name))});
  table.add(
      {"total", format_count(report.before.operations), format_count(report.after.operations)});
  return table.text();
}

using Counters = std::vector<std::pair<std::string, int64_t>>;

void add_count(Counters& counters, const Counters::value_type& more) {
  for (auto& [name, count] : counters)
    if (name == more.first) {
      count += more.second;
      return;
    }
  counters.push_back(more);
}

// A pass that stands in the pipeline several times is one row, unless -vv asks for each.
std::vector<PassReport> pass_rows(const std::vector<PassReport>& passes, bool each) {
  if (each) return passes;
  std::vector<PassReport> rows;
  for (const PassReport& run : passes) {
    auto it = std::find_if(rows.begin(), rows.end(),
                           [&](const PassReport& row) { return row.name == run.name; });
    if (it == rows.end()) {
      rows.push_back(run);
      continue;
    }
    it->changes += run.changes;
    it->runs += run.runs;
    it->milliseconds += run.milliseconds;
    for (const auto& counter : run.counters) add_count(it->counters, counter);
  }
  return rows;
}

std::string pass_table(const std::vector<PassReport>& passes, int verbosity) {
  std::string out = report_table(pass_rows(passes, verbosity > 1),
                                 {"name", "runs", "changes", "milliseconds", "counters"});
  if (verbosity > 1)
    for (const PassReport& run : passes)
      for (const std::string& note : run.notes) out += fmt::format("  {}: {}\n", run.name, note);
  return out;
}

// What is in a file of another format's operators, and how its interface looks.
std::string self_check_text(const SelfCheck& check) {
  if (!check.ran) return fmt::format("  read back, not run: {}\n", check.reason);
  std::string text = fmt::format("  read back and run: largest error {:.1e}", check.largest_error);
  if (!check.shapes.empty())
    text += fmt::format(" ({})", printable(fmt::format("{}", fmt::join(check.shapes, "; ")), 400));
  if (!check.reason.empty()) text += fmt::format("; other sizes {}", check.reason);
  return text + "\n";
}

std::string operator_text(const CompileReport& report) {
  TextTable table({"Operator", "Count"});
  for (const auto& [name, count] : report.operators) table.add({name, format_count(count)});
  table.add({"total", format_count(report.num_operators)});
  std::string out = table.text() + "\n";
  const auto interface = [&](std::string_view what, const std::vector<InterfaceSummary>& before,
                             const std::vector<InterfaceSummary>& after) {
    for (size_t i = 0; i < after.size(); ++i) {
      out += fmt::format("  {} {}: {} {}", what, printable(after[i].name), after[i].dtype,
                         dims_text(after[i]));
      if (i < before.size() && dims_text(before[i]) != dims_text(after[i]))
        out += fmt::format(" (in the model {})", dims_text(before[i]));
      out += "\n";
    }
  };
  interface("input", report.before.inputs, report.after.inputs);
  interface("output", report.before.outputs, report.after.outputs);
  for (const PassReport& run : report.passes)
    for (const std::string& note : run.notes)
      if (note.starts_with("transpose inserted")) out += fmt::format("  {}\n", note);
  if (report.self_check) out += self_check_text(*report.self_check);
  out += fmt::format("  sha256 {}\n", report.output_sha256);
  return out;
}

std::string segments_text(const CompileReport& report) {
  TextTable table({"Segment", "On the device", "On the CPU", "Parameters", "Latency", "Size"});
  for (const SegmentReport& segment : report.segments) {
    const PlacementReport& placed = segment.placement;
    table.add({printable(segment.output.filename().string(), 80), format_count(placed.native),
               format_count(placed.host), format_bytes(placed.estimate->parameter_bytes),
               format_ms(placed.estimate->latency_ms), format_bytes(segment.output_bytes)});
  }
  return "\n" + table.text();
}

std::string options_table(const std::vector<OptionReport>& options) {
  TextTable table({"Option", "Value", "From"});
  for (const OptionReport& row : options) table.add({row.name, printable(row.value), row.source});
  return table.text();
}

std::string report_text(const CompileReport& report, int verbosity) {
  std::string out = report.operators.empty() ? change_table(report) : operator_text(report);
  out += fmt::format("\n  read {}, passes {}", format_ms(report.milliseconds("import")),
                     format_ms(report.pass_milliseconds));
  if (!report.output.empty()) {
    out += fmt::format(", write {} (measured)\n  wrote {} ({})\n",
                       format_ms(report.milliseconds("commit")),
                       printable(report.output.string(), 1000), format_bytes(report.output_bytes));
  } else if (!report.stopped_after.empty()) {
    out += fmt::format(" (measured)\n  stopped after {}: nothing written\n", report.stopped_after);
  } else {
    out += " (measured)\n  nothing written: give a file with -o X.onnx or -o X.ecir\n";
  }
  // Where everything runs on the target there is nothing to tell, unless it is a device.
  if (report.placement &&
      (report.placement->estimate ||
       report.placement->native < static_cast<int64_t>(report.placement->operations.size())))
    out += "\n" + placement_table(*report.placement, false) + device_text(*report.placement) +
           fixes_text(*report.placement);
  if (report.placement) out += costs_text(*report.placement);
  if (!report.segments.empty()) out += segments_text(report);
  if (report.quantization) out += quantize_text(*report.quantization);
  if (verbosity > 0) out += "\n" + report_table(report.phases, {"name", "milliseconds"});
  if (verbosity > 0) out += "\n" + pass_table(report.passes, verbosity);
  if (verbosity > 1) out += "\n" + options_table(report.options);
  return out;
}

Status finish(const Settings& settings, const CompileReport& report, Output& output) {
  if (settings.wants_json()) output.json = to_json(report);
  if (!settings.quiet) output.text = report_text(report, settings.verbosity);
  return {};
}

}  // namespace

Status run_optimize(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const CompileReport report,
         optimize_model(default_registry(), settings.arguments.front(), settings.options, sink));
  return finish(settings, report, output);
}

Status run_quantize(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const CompileReport report,
         quantize_model(default_registry(), settings.arguments.front(), settings.options, sink));
  return finish(settings, report, output);
}

Status run_compile(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::vector<ModelRef> models(settings.arguments.begin(), settings.arguments.end());
  EC_TRY(const std::vector<CompileReport> reports,
         compile_models(default_registry(), models, settings.options, sink));
  if (reports.size() == 1) return finish(settings, reports.front(), output);
  if (settings.wants_json()) output.json = to_json(reports);
  if (settings.quiet) return {};
  int64_t on_chip = 0;
  for (const CompileReport& report : reports) {
    output.text += fmt::format("{}\n{}\n", printable(report.model, 1000),
                               report_text(report, settings.verbosity));
    if (report.placement && report.placement->estimate)
      on_chip += report.placement->estimate->on_chip_bytes;
  }
  output.text += fmt::format("  {} models share {} of the device's memory (estimated)\n",
                             reports.size(), format_bytes(on_chip));
  return {};
}

}  // namespace ec::cli
