// The steps of post-training quantisation that measure and choose the ranges of activations.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "quantize/plan/masked_values.h"
#include "quantize/plan/mixed_ranges.h"
#include "quantize/plan/precise_outputs.h"
#include "quantize/plan/precise_tail.h"
#include "quantize/ranges/choose_ranges.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/ptq.h"
#include "quantize/tuning.h"
#include "support/progress.h"
#include "support/strings.h"

namespace ec::quantize::ptq {
namespace {

// SQNR of the outputs with the present plan and the ranges as calibrated, on a few samples.
Result<double> sqnr_as_planned(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  EC_TRY(const FormParams params,
         assign_parameters(graph, context.plan, context.calibration.ranges));
  const LayerWeights weights = round_weights(graph, context.plan, params);
  EC_TRY(const auto trial,
         Trial::create(graph, context.plan, context.request.threads, context.reference));
  for (const size_t index : evenly_spaced(context.split.calibration, tuning::kFewestTrialSamples))
    EC_CHECK_OK(trial->add_sample(*context.request.samples, index));
  EC_TRY(const OutputError error, trial->measure(round_all(graph, context.plan, params, weights)));
  return error.sqnr_db();
}

// Results that join operands of very different size: as integers they would share one scale, as
// floats each operand keeps its own.
Status split_mixed_outputs(QuantizeContext& context) {
  const Graph& graph = *context.graph;
  const std::vector<const Operation*> mixed =
      mixed_outputs(graph, context.plan, context.calibration);
  if (mixed.empty()) return {};
  EC_TRY(const double joined_db, sqnr_as_planned(context));
  for (const Operation* op : mixed) {
    context.plan_options.chosen[op->id()] = {
        Precision::Float, "the ranges of its operands differ too much for one scale"};
    for (const Tensor* output : outputs_behind(graph, *op))
      context.plan_options.float_outputs.insert(output->id());
  }
  context.update_plan();
  EC_TRY(const double split_db, sqnr_as_planned(context));
  for (const Operation* op : mixed)
    context.report().methods.push_back(
        {"split-concat", true, joined_db, split_db,
         fmt::format("'{}' joins floats, its operands keep their own scales",
                     printable(op->location().name()))});
  return {};
}

// ONNX files have the same type everywhere: few of their readers know another.
bool may_be_precise(const QuantizeRequest& request) {
  return request.io == IoType::Float && request.form == GraphForm::Integer;
}

void choose(QuantizeContext& context, const std::map<uint32_t, Choice>& choices) {
  for (const auto& [id, choice] : choices) context.plan_options.chosen[id] = choice;
  context.update_plan();
}

// Decoders of boxes and scores compute on floats where that is measured to help.
Status make_tail_precise(QuantizeContext& context) {
  const PreciseOutputs tail = precise_tail(*context.graph, context.plan);
  if (tail.choices.empty()) return {};
  EC_TRY(const double rounded_db, sqnr_as_planned(context));
  const PlanOptions without = context.plan_options;
  choose(context, tail.choices);
  EC_TRY(const double precise_db, sqnr_as_planned(context));
  const bool applied = context.request.methods.precise_outputs == Switch::On ||
                       precise_db >= rounded_db + tuning::kPreciseTailGain;
  context.report().methods.push_back(
      {"precise-tail", applied, rounded_db, precise_db,
       fmt::format("what decodes the outputs computes on floats; operations with more than 8 "
                   "bits: {}",
                   tail.choices.size())});
  if (applied) return {};
  context.plan_options = without;
  context.update_plan();
  return {};
}

// Outputs that stay floats are not rounded on their way, where that costs little.
Status make_outputs_precise(QuantizeContext& context) {
  const Switch wanted = context.request.methods.precise_outputs;
  if (wanted == Switch::Off || !may_be_precise(context.request)) return {};
  EC_CHECK_OK(make_tail_precise(context));
  const double most_share = wanted == Switch::On ? 1.0 : tuning::kPreciseOutputsCost;
  const PreciseOutputs precise = precise_outputs(*context.graph, context.plan, most_share);
  if (precise.choices.empty()) return {};
  EC_TRY(const double rounded_db, sqnr_as_planned(context));
  choose(context, precise.choices);
  EC_TRY(double precise_db, sqnr_as_planned(context));
  size_t operations = precise.choices.size();
  if (!precise.means.empty()) {
    const PlanOptions without = context.plan_options;
    choose(context, precise.means);
    EC_TRY(const double with_means_db, sqnr_as_planned(context));
    if (with_means_db >= precise_db + tuning::kPreciseMeansGain) {
      precise_db = with_means_db;
      operations += precise.means.size();
    } else {
      context.plan_options = without;
      context.update_plan();
    }
  }
  context.report().methods.push_back(
      {"precise-outputs", true, rounded_db, precise_db,
       fmt::format("float outputs are not rounded to 8 bits; operations with more: {}",
                   operations)});
  return {};
}

}  // namespace

size_t trial_runs(const QuantizeContext& context) {
  const double effort = context.request.high_effort ? tuning::kHighEffort : 1;
  return static_cast<size_t>(
      std::clamp(effort * tuning::kTrialCost / std::max(1.0, cost_of_run(*context.graph)),
                 static_cast<double>(tuning::kFewestTrialRuns),
                 effort * static_cast<double>(tuning::kMostTrialRuns)));
}

Status open_trial(QuantizeContext& context) {
  EC_TRY(context.trial,
         Trial::create(*context.graph, context.plan, context.request.threads, context.reference));
  const size_t samples = std::clamp(trial_runs(context) / tuning::kChoicesPerSample,
                                    tuning::kFewestTrialSamples, tuning::kMostTrialSamples);
  // Samples with extreme values count once; each of the others stands for many that are like it.
  std::set<size_t> extreme;
  for (const size_t index : context.calibration.extreme_samples)
    if (extreme.size() < samples / tuning::kExtremeSamples) extreme.insert(index);
  std::vector<size_t> usual;
  for (const size_t index : context.split.calibration)
    if (!extreme.contains(index)) usual.push_back(index);
  const std::vector<size_t> chosen = evenly_spaced(usual, samples - extreme.size());
  const auto add = [&](size_t index, size_t stands_for, size_t of) -> Status {
    return context.trial->add_sample(*context.request.samples, index,
                                     static_cast<double>(stands_for) / static_cast<double>(of));
  };
  for (const size_t index : chosen) EC_CHECK_OK(add(index, usual.size(), chosen.size()));
  for (const size_t index : extreme) EC_CHECK_OK(add(index, 1, 1));
  return {};
}

Status calibrate_activations(QuantizeContext& context) {
  const QuantizeRequest& request = context.request;
  CalibrationOptions options;
  options.method = context.method;
  options.observer = request.observer;
  options.threads = request.threads;
  options.progress = [](size_t done, size_t total) {
    report_progress("calibrating", static_cast<int64_t>(done), static_cast<int64_t>(total));
  };
  EC_TRY(context.calibration, calibrate(*context.graph, context.plan, *request.samples,
                                        context.split.calibration, options));
  context.report().calibration_samples = context.calibration.samples;
  if (keep_unbounded_in_float(*context.graph, context.plan, context.calibration.unbounded,
                              context.plan_options))
    context.update_plan();
  EC_CHECK_OK(split_mixed_outputs(context));
  check_input_ranges(*context.graph, context.calibration, request.preprocessing, context.sink);
  return {};
}

Status assign(QuantizeContext& context) {
  EC_CHECK_OK(make_outputs_precise(context));
  EC_CHECK_OK(open_trial(context));
  EC_TRY(ChosenRanges chosen, choose_ranges(*context.graph, context.plan, context.calibration,
                                            *context.trial, trial_runs(context)));
  context.calibration.ranges = std::move(chosen.ranges);
  if (chosen.widest.signal > 0)
    context.report().methods.push_back(
        {"choose-ranges", chosen.narrowed > 0, chosen.widest.sqnr_db(), chosen.chosen.sqnr_db(),
         fmt::format("{} ranges narrower than what was seen, tried at the outputs",
                     chosen.narrowed)});
  EC_TRY(context.params,
         assign_parameters(*context.graph, context.plan, context.calibration.ranges));
  return {};
}

}  // namespace ec::quantize::ptq
