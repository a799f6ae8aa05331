// inspect: what is in a model.
#include <fmt/format.h>

#include "cli.h"
#include "driver/jobs.h"
#include "edgecompiler/report.h"
#include "report/describe_model.h"
#include "report/summary.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

std::string quant_text(const std::optional<TensorQuantization>& quant) {
  if (!quant || quant->scales.empty()) return "";
  if (quant->per_channel())
    return fmt::format("per channel, axis {}, {} scales", quant->axis, quant->scales.size());
  return fmt::format("scale {}, zero point {}", format_float(quant->scales[0]),
                     quant->zero_points.empty() ? 0 : quant->zero_points[0]);
}

std::string interface_table(std::string_view title, const std::vector<InterfaceSummary>& values) {
  TextTable table({std::string(title), "Type", "Shape", "Quantisation"});
  for (const InterfaceSummary& value : values)
    table.add({printable(value.name), value.dtype, dims_text(value), quant_text(value.quant)});
  return table.text();
}

std::string ops_table(const ModelSummary& s) {
  TextTable table({"Operation", "Count", "MACs"});
  for (const OpSummary& op : s.ops)
    table.add({printable(op.name, 60) + (op.supported ? "" : " (cannot run here)"),
               format_count(op.count),
               !op.macs       ? "not known"
               : *op.macs > 0 ? format_count(*op.macs)
                              : ""});
  return table.text();
}

std::string layer_table(const ModelSummary& s) {
  if (s.unsupported == 0)
    return report_table(s.layers, {"name", "op", "source_op", "output", "macs", "parameters"});
  return report_table(s.layers,
                      {"name", "op", "source_op", "output", "macs", "parameters", "problem"});
}

std::string macs_text(const ModelSummary& s) {
  std::string text = s.macs_unknown == 0 ? format_count(s.macs) + " (exact)"
                     : s.macs == 0       ? "not known"
                                         : "more than " + format_count(s.macs);
  if (s.macs_unknown > 0)
    text += fmt::format(": {} operations {}", format_count(s.macs_unknown),
                        s.macs_unknown <= s.unsupported ? "are not known here"
                        : s.unsupported == 0            ? "have open sizes"
                                                        : "have open sizes or are not known here");
  if (s.has_bodies) text += "; bodies of control flow count once";
  return text + "\n";
}

std::string totals(const ModelSummary& s) {
  std::string types;
  for (const auto& [type, count] : s.parameter_types)
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", format_count(count), type);
  std::string out =
      fmt::format("  parameters   {}{} ({})\n", format_count(s.parameters),
                  types.empty() ? "" : fmt::format(": {}", types), format_bytes(s.parameter_bytes));
  out += fmt::format("  MACs         {}", macs_text(s));
  if (s.quant.tensors > 0 || s.quant.quantize_ops > 0 || s.quant.dequantize_ops > 0)
    out += fmt::format(
        "  quantisation {} tensors with parameters ({} per channel), {} quantize and {} dequantize "
        "operations\n",
        s.quant.tensors, s.quant.per_channel, s.quant.quantize_ops, s.quant.dequantize_ops);
  if (!s.open_dims.empty())
    out += fmt::format("  open sizes   {}; fix with --dim {}=N\n", join(s.open_dims, ", "),
                       s.open_dims.front());
  return out;
}

std::string summary_text(const ModelSummary& s, int verbosity) {
  std::string out =
      fmt::format("{}: {} model '{}', {}, {} operations\n\n", printable(s.file), s.format,
                  printable(s.name), format_bytes(s.file_bytes), format_count(s.operations));
  out += interface_table("Input", s.inputs) + "\n" + interface_table("Output", s.outputs) + "\n";
  out += ops_table(s) + "\n" + totals(s);
  if (!s.metadata.empty()) {
    out += "\n  metadata\n";
    for (const auto& [key, value] : s.metadata)
      out +=
          fmt::format("    {}: {}\n", printable(key), printable(value, verbosity > 0 ? 2000 : 80));
  }
  for (const Inspection& inspection : s.device_code) out += inspection.text;
  if (verbosity > 0) out += "\n" + layer_table(s);
  return out;
}

}  // namespace

Status run_inspect(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::string& file = settings.arguments.front();
  EC_TRY(const ModelSummary summary,
         inspect_model(default_registry(), file, settings.options, sink));
  if (!settings.quiet) output.text = summary_text(summary, settings.verbosity);
  if (settings.json) output.json = to_json(summary);
  return {};
}

}  // namespace ec::cli
