#include "report/convert.h"

#include <algorithm>

namespace ec {
namespace {

// What the terminal shows of them.
constexpr size_t kWorstLayers = 10;

LayerError layer_error(const quantize::LayerAccuracy& layer) {
  LayerError error;
  error.name = layer.name;
  error.op = layer.op;
  error.tensor = layer.tensor;
  error.error = error_summary(layer.error);
  error.own_share = layer.own_share;
  error.cause = layer.cause;
  error.advice = layer.advice;
  error.scale = static_cast<double>(layer.scale);
  error.zero_point = layer.zero_point;
  return error;
}

std::vector<PartError> part_errors(const std::vector<quantize::PartAccuracy>& parts) {
  std::vector<PartError> errors;
  for (const quantize::PartAccuracy& part : parts) {
    PartError& error = errors.emplace_back();
    error.name = part.name;
    error.meaning = part_meaning_name(part.meaning);
    error.error = error_summary(part.error);
    if (part.meaning != quantize::PartMeaning::Scores) continue;
    error.scores_float = part.decisions.expected;
    error.scores_quantized = part.decisions.got;
    error.scores_both = part.decisions.both;
    error.decision_agreement = part.decisions.agreement();
  }
  return errors;
}

AccuracySummary accuracy_summary(const quantize::AccuracyReport& accuracy) {
  AccuracySummary summary;
  summary.samples = static_cast<int64_t>(accuracy.samples);
  summary.held_out = accuracy.held_out;
  for (const quantize::LayerAccuracy& input : accuracy.inputs)
    summary.inputs.push_back(layer_error(input));
  for (const quantize::OutputAccuracy& output : accuracy.outputs)
    summary.outputs.push_back({output.name, error_summary(output.error), output.top1_agreement,
                               part_errors(output.parts)});
  if (accuracy.task) summary.task = task_summary(*accuracy.task);
  for (const quantize::LayerAccuracy& layer : accuracy.layers)
    summary.layers.push_back(layer_error(layer));
  for (const quantize::LayerAccuracy* layer : accuracy.ranked())
    if (summary.worst_layers.size() < kWorstLayers)
      summary.worst_layers.push_back(static_cast<size_t>(layer - accuracy.layers.data()));
  return summary;
}

}  // namespace

ErrorSummary error_summary(const quantize::ErrorStatistics& error) {
  return {error.sqnr_db(),    error.cosine(), error.rmse(),
          error.mean_error(), error.largest,  error.clip_rate()};
}

TaskSummary task_summary(const tasks::TaskResult& result) {
  TaskSummary summary{
      std::string(tasks::task_name(result.task)), result.head, result.reason, result.agreement, {}};
  for (const tasks::Figure& figure : result.figures)
    summary.figures.push_back({figure.name, figure.text, figure.value, figure.count});
  return summary;
}

QuantizationReport quantization_report(const quantize::QuantizeReport& report) {
  QuantizationReport result;
  result.strategy = report.strategy;
  result.target = report.target;
  result.method = report.method;
  result.io_type = report.io_type;
  result.preprocessing = report.preprocessing;
  result.calibration_samples = static_cast<int64_t>(report.calibration_samples);
  result.integer_operations = report.integer_ops;
  result.float_operations = report.float_ops;
  result.kept_in_float = report.kept_in_float;
  result.widened_weights = report.widened_weights;
  for (const quantize::StoredWeight& weight : report.stored_weights)
    result.stored_weights.push_back({weight.name, weight.type, weight.bytes_before,
                                     weight.bytes_after, weight.error.sqnr_db()});
  result.methods = report.methods;
  result.raised = report.raised;
  result.accuracy = accuracy_summary(report.accuracy);
  result.steps = report.steps;
  return result;
}

std::vector<PassReport> pass_reports(const PipelineReport& report) {
  std::vector<PassReport> passes;
  for (const PassRun& run : report.passes)
    passes.push_back({run.name, run.runs, run.stats.changes, run.milliseconds, run.stats.counters,
                      run.stats.notes});
  return passes;
}

double CompileReport::milliseconds(std::string_view phase) const {
  for (const PhaseTime& time : phases)
    if (time.phase == phase) return time.milliseconds;
  return 0;
}

}  // namespace ec
