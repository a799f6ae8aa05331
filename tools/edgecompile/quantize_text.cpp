#include "quantize_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/registry.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

constexpr size_t kWorstLayers = 10;

std::string outputs_table(const quantize::AccuracyReport& accuracy) {
  TextTable table({"Output", "SQNR", "Cosine", "Largest error", "Same top-1"});
  for (const quantize::OutputAccuracy& output : accuracy.outputs)
    table.add({printable(output.name), fmt::format("{:.1f} dB", output.error.sqnr_db()),
               fmt::format("{:.5f}", output.error.cosine()),
               fmt::format("{:.4g}", output.error.largest),
               output.top1_agreement ? fmt::format("{:.1f} %", *output.top1_agreement * 100)
                                     : std::string("-")});
  return table.text();
}

std::string layers_table(const quantize::AccuracyReport& accuracy) {
  std::vector<const quantize::LayerAccuracy*> layers = accuracy.ranked();
  if (layers.size() > kWorstLayers) layers.resize(kWorstLayers);
  TextTable table(
      {"Worst layers", "Operation", "Share", "SQNR", "Cosine", "Error / step", "Clipped"});
  for (const quantize::LayerAccuracy* layer : layers)
    table.add(
        {printable(layer->name.empty() ? layer->tensor : layer->name, 60), layer->op,
         layer->own_share ? fmt::format("{:.0f} %", *layer->own_share * 100) : std::string("-"),
         fmt::format("{:.1f} dB", layer->error.sqnr_db()),
         fmt::format("{:.5f}", layer->error.cosine()),
         fmt::format("{:.2f}", layer->error.rmse() / static_cast<double>(layer->scale)),
         fmt::format("{:.2f} %", layer->error.clip_rate() * 100)});
  std::string out = table.text();
  for (const quantize::LayerAccuracy& input : accuracy.inputs)
    if (!input.cause.empty())
      out += fmt::format("\n  input '{}': {}\n    {}\n", printable(input.name, 60), input.cause,
                         input.advice);
  for (const quantize::LayerAccuracy* layer : layers)
    if (!layer->cause.empty())
      out += fmt::format("\n  '{}': {}\n    {}\n", printable(layer->name, 60), layer->cause,
                         layer->advice);
  return out;
}

std::string methods_text(const quantize::QuantizeReport& report) {
  std::string out;
  for (const quantize::MethodGain& gain : report.methods)
    out += fmt::format("  {} ({}): outputs {:.1f} dB -> {:.1f} dB, {}\n", gain.method, gain.note,
                       gain.before_db, gain.after_db, gain.applied ? "used" : "not used");
  if (report.raised.empty()) return out;
  double work = 0;
  size_t on_cpu = 0;
  for (const quantize::RaisedLayer& layer : report.raised) {
    work += layer.work_share;
    on_cpu += layer.leaves_device;
  }
  out += fmt::format(
      "  raised for the asked accuracy: {} of {} operations, about {:.1f} % of the work is slower "
      "for it (estimated), {} of them on the CPU beside the device\n",
      report.raised.size(), report.integer_ops + report.float_ops, work * 100, on_cpu);
  for (size_t i = 0; i < std::min(kWorstLayers, report.raised.size()); ++i)
    out += fmt::format("    '{}' ({}) to {}, {:.1f} % of the work\n",
                       printable(report.raised[i].name, 60), report.raised[i].op,
                       report.raised[i].to, report.raised[i].work_share * 100);
  if (report.raised.size() > kWorstLayers)
    out += fmt::format("    and {} more; --json lists all\n", report.raised.size() - kWorstLayers);
  return out;
}

std::string operations_text(const quantize::QuantizeReport& report) {
  std::string out = fmt::format(
      "\n  quantised by {}: {} of {} operations on integers, interface {}\n"
      "  calibrated on {} samples ({}; {})\n",
      report.strategy, report.integer_ops, report.integer_ops + report.float_ops, report.io_type,
      report.calibration_samples, report.method, report.preprocessing);
  return out + methods_text(report);
}

// The report of strategies that leave activations as floats.
std::string stored_weights_text(const quantize::QuantizeReport& report) {
  int64_t before = 0, after = 0;
  const quantize::StoredWeight* worst = nullptr;
  for (const quantize::StoredWeight& weight : report.stored_weights) {
    before += weight.bytes_before;
    after += weight.bytes_after;
    if (worst == nullptr || weight.error.sqnr_db() < worst->error.sqnr_db()) worst = &weight;
  }
  std::string out = fmt::format("\n  quantised by {}: {} weights take {} instead of {} bytes\n",
                                report.strategy, report.stored_weights.size(), after, before);
  if (worst != nullptr)
    out += fmt::format("  the coarsest is '{}' ({}): {:.1f} dB\n", printable(worst->name, 60),
                       worst->type, worst->error.sqnr_db());
  for (size_t i = 0; i < std::min(kWorstLayers, report.kept_in_float.size()); ++i)
    out += fmt::format("    '{}' ({}) as it was: {}\n", printable(report.kept_in_float[i].name, 60),
                       report.kept_in_float[i].op, report.kept_in_float[i].reason);
  if (report.kept_in_float.size() > kWorstLayers)
    out += fmt::format("    and {} more; --json lists all\n",
                       report.kept_in_float.size() - kWorstLayers);
  return out;
}

}  // namespace

std::string quantize_text(const quantize::QuantizeReport& report) {
  const quantize::Strategy* strategy = default_registry().find_strategy(report.strategy).value();
  std::string out =
      strategy->float_activations ? stored_weights_text(report) : operations_text(report);
  const quantize::AccuracyReport& accuracy = report.accuracy;
  if (accuracy.samples == 0) return out;
  out +=
      fmt::format("  {} against the float model on {} samples {}:\n\n",
                  strategy->float_activations ? "measured" : "simulated", accuracy.samples,
                  accuracy.held_out ? "kept apart" : "(the same ones: too few to keep some apart)");
  out += outputs_table(accuracy);
  if (!accuracy.layers.empty()) out += "\n" + layers_table(accuracy);
  std::string times;
  for (const quantize::StepTime& step : report.steps)
    times +=
        fmt::format("{}{} {}", times.empty() ? "" : ", ", step.step, format_ms(step.milliseconds));
  return out + "\n  " + times + " (measured)\n";
}

}  // namespace ec::cli
