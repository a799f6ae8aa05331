// The steps of post-training quantisation that measure and choose the ranges of activations.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

// ONNX files have the same type everywhere: few of their readers know another.
bool may_be_precise(const QuantizeRequest& request) {
  return request.io == IoType::Float && request.form == GraphForm::Integer;
}

void join_as_floats(QuantizeContext& context, const std::vector<const Operation*>& mixed) {
  std::string reason = "the ranges of its operands differ too much for one scale";
  // Floats are not what the caller asked for.
  if (context.request.io != IoType::Float)
    reason += "; --split-outputs gives each as an integer output of its own";
  for (const Operation* op : mixed) {
    context.plan_options.chosen[op->id()] = {Precision::Float, reason};
    for (const Tensor* output : outputs_behind(*context.graph, *op))
      context.plan_options.float_outputs.insert(output->id());
  }
  context.update_plan();
}

// Results that join operands of different size: as integers they would share one scale, as floats
// each operand keeps its own. Where the smaller one has few steps left that is done, else tried.
Status split_mixed_outputs(QuantizeContext& context) {
  const std::vector<const Operation*> mixed =
      mixed_outputs(*context.graph, context.plan, context.calibration);
  std::vector<const Operation*> tried;
  if (may_be_precise(context.request) && !context.request.target->integers_only &&
      context.request.methods.precise_outputs != Switch::Off)
    tried = mixed_outputs(*context.graph, context.plan, context.calibration, false);
  if (mixed.empty() && tried.empty()) return {};
  EC_TRY(double joined_db, sqnr_as_planned(context));
  const auto attempt = [&](const std::vector<const Operation*>& ops, double gain) -> Status {
    const PlanOptions without = context.plan_options;
    join_as_floats(context, ops);
    EC_TRY(const double split_db, sqnr_as_planned(context));
    const bool applied = split_db >= joined_db + gain;
    for (const Operation* op : ops)
      context.report().methods.push_back(
          {"split-concat", applied, joined_db, split_db,
           fmt::format("'{}' joins floats, its operands keep their own scales",
                       printable(op->location().name()))});
    if (applied) return joined_db = split_db, Status();
    context.plan_options = without;
    context.update_plan();
    return {};
  };
  if (!mixed.empty()) EC_CHECK_OK(attempt(mixed, -std::numeric_limits<double>::infinity()));
  for (const Operation* op : tried)
    if (std::find(mixed.begin(), mixed.end(), op) == mixed.end())
      EC_CHECK_OK(attempt({op}, tuning::kSplitGain));
  return {};
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

// The samples that a trial chooses ranges by: usual ones, and some with the extremes of an
// activation.
struct TrialSamples {
  std::vector<size_t> usual, extreme;
  size_t all_usual = 0;  // that the usual ones stand for
};
TrialSamples trial_samples(const QuantizeContext& context) {
  const size_t samples = std::clamp(trial_runs(context) / tuning::kChoicesPerSample,
                                    tuning::kFewestTrialSamples, tuning::kMostTrialSamples);
  TrialSamples chosen;
  for (const size_t index : context.calibration.extreme_samples)
    if (chosen.extreme.size() < samples / tuning::kExtremeSamples) chosen.extreme.push_back(index);
  std::ranges::sort(chosen.extreme);
  std::vector<size_t> usual;
  for (const size_t index : context.split.calibration)
    if (!std::ranges::binary_search(chosen.extreme, index)) usual.push_back(index);
  chosen.all_usual = usual.size();
  chosen.usual = evenly_spaced(usual, samples - chosen.extreme.size());
  return chosen;
}

// Whether chosen ranges lose no more than the extremes do on samples that did not choose them:
// those kept apart, and others that took no part.
Result<bool> holds_on_others(QuantizeContext& context, const ChosenRanges& chosen) {
  const Graph& graph = *context.graph;
  const TrialSamples used = trial_samples(context);
  std::set<size_t> others(context.split.held_out.begin(), context.split.held_out.end());
  others.insert(context.split.calibration.begin(), context.split.calibration.end());
  for (const size_t index : used.usual) others.erase(index);
  for (const size_t index : used.extreme) others.erase(index);
  if (others.empty()) return true;
  EC_TRY(const auto trial,
         Trial::create(graph, context.plan, context.request.threads, context.reference));
  const std::vector<size_t> all(others.begin(), others.end());
  for (const size_t index : evenly_spaced(all, tuning::kConfirmSamples))
    EC_CHECK_OK(trial->add_sample(*context.request.samples, index));
  const auto judged = [&](const Ranges& ranges) -> Result<double> {
    EC_TRY(const FormParams params, assign_parameters(graph, context.plan, ranges));
    const LayerWeights weights = round_weights(graph, context.plan, params);
    EC_TRY(const OutputError error,
           trial->measure(round_all(graph, context.plan, params, weights)));
    return error.judged;
  };
  EC_TRY(const double narrow, judged(chosen.ranges));
  EC_TRY(const double wide, judged(context.calibration.ranges));
  return narrow <= wide;
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
  const TrialSamples chosen = trial_samples(context);
  // Samples with extreme values count once; each of the others stands for many that are like it.
  const auto add = [&](size_t index, size_t stands_for, size_t of) -> Status {
    return context.trial->add_sample(*context.request.samples, index,
                                     static_cast<double>(stands_for) / static_cast<double>(of));
  };
  for (const size_t index : chosen.usual)
    EC_CHECK_OK(add(index, chosen.all_usual, chosen.usual.size()));
  for (const size_t index : chosen.extreme) EC_CHECK_OK(add(index, 1, 1));
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
  // What 8 bits had better cut off has room in the 16 bits of single layers.
  if (!context.strategy.wide_activations)
    context.calibration.ranges.wide = context.calibration.extremes;
  if (keep_unbounded_in_float(*context.graph, context.plan, context.calibration.unbounded,
                              context.plan_options))
    context.update_plan();
  EC_CHECK_OK(split_mixed_outputs(context));
  check_input_ranges(*context.graph, context.calibration, request.preprocessing, context.sink);
  return {};
}

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

Status assign(QuantizeContext& context) {
  EC_CHECK_OK(open_trial(context));
  EC_TRY(ChosenRanges chosen, choose_ranges(*context.graph, context.plan, context.calibration,
                                            *context.trial, trial_runs(context)));
  // Few samples of a detector hold objects: chance has more to choose from than elsewhere.
  if (chosen.narrowed > 0 && chosen.widest.by_task) {
    EC_TRY(const bool holds, holds_on_others(context, chosen));
    if (!holds) chosen = {context.calibration.ranges, chosen.widest, chosen.widest, 0};
  }
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
