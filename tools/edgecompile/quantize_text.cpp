#include "quantize_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/registry.h"
#include "report/describe_quantization.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

constexpr size_t kListed = 10;

std::string outputs_table(const AccuracySummary& accuracy) {
  std::vector<report::QuantizedOutput> rows;
  for (const OutputError& output : accuracy.outputs) rows.push_back({&output});
  return report_table(rows, {"name", "sqnr_db", "cosine", "max_error", "top1_agreement"});
}

// What outputs hold side by side, each against its own size: the figure of the whole output is that
// of its largest part.
std::string parts_table(const AccuracySummary& accuracy) {
  std::vector<PartError> rows;
  for (const OutputError& output : accuracy.outputs)
    rows.insert(rows.end(), output.parts.begin(), output.parts.end());
  if (rows.empty()) return {};
  return "\n" +
         report_table(rows, {"name", "meaning", "sqnr_db", "max_error", "decision_agreement"});
}

// What users of the model lose, in the figures of its task.
std::string task_text(const AccuracySummary& accuracy) {
  if (!accuracy.task || accuracy.task->figures.empty()) return {};
  const TaskSummary& task = *accuracy.task;
  TextTable table({fmt::format("{}{}{}, beside the float model's own answers", task.name,
                               task.head.empty() ? "" : ": ", printable(task.head, 60)),
                   ""});
  for (const TaskFigure& figure : task.figures)
    table.add({figure.text, figure.count ? format_count(static_cast<int64_t>(figure.value))
                                         : fmt::format("{:.4f}", figure.value)});
  return "\n" + table.text();
}

std::string cause_text(std::string_view what, const LayerError& layer) {
  if (layer.cause.empty()) return {};
  return fmt::format("\n  {}'{}': {}\n    {}\n", what, printable(layer.name, 60), layer.cause,
                     layer.advice);
}

std::string layers_table(const AccuracySummary& accuracy) {
  std::vector<LayerError> rows;
  std::string causes;
  for (const LayerError& input : accuracy.inputs) causes += cause_text("input ", input);
  for (const size_t index : accuracy.worst_layers) {
    LayerError row = accuracy.layers[index];
    causes += cause_text("", row);
    if (row.name.empty()) row.name = row.tensor;
    rows.push_back(std::move(row));
  }
  return "  Worst layers\n" +
         report_table(
             rows, {"name", "op", "own_share", "sqnr_db", "cosine", "rmse_in_steps", "clip_rate"}) +
         causes;
}

std::string methods_text(const QuantizationReport& report) {
  std::string out;
  for (const MethodGain& gain : report.methods)
    out += fmt::format("  {} ({}): outputs {:.1f} dB -> {:.1f} dB, {}\n", gain.method, gain.note,
                       gain.before_db, gain.after_db, gain.applied ? "used" : "not used");
  if (report.raised.empty()) return out;
  double work = 0;
  size_t on_cpu = 0;
  for (const RaisedLayer& layer : report.raised) {
    work += layer.work_share;
    on_cpu += layer.leaves_device;
  }
  out += fmt::format(
      "  raised for the asked accuracy: {} of {} operations, about {:.1f} % of the work is slower "
      "for it (estimated), {} of them on the CPU beside the device\n",
      report.raised.size(), report.integer_operations + report.float_operations, work * 100,
      on_cpu);
  for (size_t i = 0; i < std::min(kListed, report.raised.size()); ++i)
    out += fmt::format("    '{}' ({}) to {}, {:.1f} % of the work\n",
                       printable(report.raised[i].name, 60), report.raised[i].op,
                       report.raised[i].to, report.raised[i].work_share * 100);
  if (report.raised.size() > kListed)
    out += fmt::format("    and {} more; --json lists all\n", report.raised.size() - kListed);
  return out;
}

std::string operations_text(const QuantizationReport& report) {
  std::string out = fmt::format(
      "\n  quantised by {}: {} of {} operations on integers, interface {}\n"
      "  calibrated on {} samples ({}; {})\n",
      report.strategy, report.integer_operations,
      report.integer_operations + report.float_operations, report.io_type,
      report.calibration_samples, report.method,
      report.preprocessing.empty() ? "arrays as they are" : report.preprocessing);
  return out + methods_text(report);
}

// The report of strategies that leave activations as floats.
std::string stored_weights_text(const QuantizationReport& report) {
  int64_t before = 0, after = 0;
  const StoredWeightSummary* worst = nullptr;
  for (const StoredWeightSummary& weight : report.stored_weights) {
    before += weight.bytes_before;
    after += weight.bytes_after;
    if (worst == nullptr || weight.sqnr_db < worst->sqnr_db) worst = &weight;
  }
  std::string out = fmt::format("\n  quantised by {}: {} weights take {} instead of {} bytes\n",
                                report.strategy, report.stored_weights.size(), after, before);
  if (worst != nullptr)
    out += fmt::format("  the coarsest is '{}' ({}): {:.1f} dB\n", printable(worst->name, 60),
                       worst->type, worst->sqnr_db);
  for (size_t i = 0; i < std::min(kListed, report.kept_in_float.size()); ++i)
    out += fmt::format("    '{}' ({}) as it was: {}\n", printable(report.kept_in_float[i].name, 60),
                       report.kept_in_float[i].op, report.kept_in_float[i].reason);
  if (report.kept_in_float.size() > kListed)
    out +=
        fmt::format("    and {} more; --json lists all\n", report.kept_in_float.size() - kListed);
  return out;
}

}  // namespace

std::string quantize_text(const QuantizationReport& report) {
  const quantize::Strategy* strategy = default_registry().find_strategy(report.strategy).value();
  std::string out =
      strategy->float_activations ? stored_weights_text(report) : operations_text(report);
  const AccuracySummary& accuracy = report.accuracy;
  if (accuracy.samples == 0) return out;
  out +=
      fmt::format("  {} against the float model on {} samples {}:\n\n",
                  strategy->float_activations ? "measured" : "simulated", accuracy.samples,
                  accuracy.held_out ? "kept apart" : "(the same ones: too few to keep some apart)");
  out += outputs_table(accuracy) + parts_table(accuracy) + task_text(accuracy);
  if (!accuracy.layers.empty()) out += "\n" + layers_table(accuracy);
  std::string times;
  for (const StepTime& step : report.steps)
    times +=
        fmt::format("{}{} {}", times.empty() ? "" : ", ", step.step, format_ms(step.milliseconds));
  return out + "\n  " + times + " (measured)\n";
}

}  // namespace ec::cli
