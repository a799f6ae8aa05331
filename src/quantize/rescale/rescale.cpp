#include "quantize/rescale/rescale.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "quantize/plan/masked_values.h"
#include "quantize/plan/mixed_ranges.h"
#include "quantize/rescale/equalize.h"
#include "quantize/rescale/split_channels.h"
#include "quantize/rescale/uneven_tuning.h"
#include "quantize/trial/trial.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

class Rescaler {
 public:
  Rescaler(std::shared_ptr<ReferenceOutputs> reference, const PlanOptions& options,
           const QuantizeRequest& request, std::span<const size_t> samples)
      : target_(*request.target),
        reference_(std::move(reference)),
        options_(options),
        request_(request),
        judge_(evenly_spaced(samples, tuning::kRescaleJudgeSamples)),
        probe_(evenly_spaced(without(samples, judge_), tuning::kRescaleSamples)) {}

  Result<Rescaled> run(const Graph& graph) {
    // Clones of a clone have its ids, so that what was seen of one serves the next.
    kept_ = graph.clone();
    const Switch layers = request_.methods.equalize, gains = request_.methods.balance;
    // Weights with a scale per channel have little to gain.
    if (options_.weights_per_tensor || layers == Switch::On) {
      EC_CHECK_OK(attempt(equalized({Equalization::Layers, false}),
                          {"equalize", false, 0, 0, "channels between neighbouring layers"}, layers,
                          tuning::kRescaleGain));
      EC_CHECK_OK(attempt(equalized({Equalization::Layers, true}),
                          {"equalize-bounds", false, 0, 0, "relu6 with a bound per channel"},
                          layers == Switch::Off ? Switch::Off : Switch::Auto,
                          tuning::kRescaleBoundsGain));
    }
    EC_CHECK_OK(attempt(equalized({Equalization::Gains, false}),
                        {"balance", false, 0, 0, "channels behind gains and gates"}, gains,
                        tuning::kRescaleGain));
    EC_CHECK_OK(attempt({may_split_channels, split_channels},
                        {"split-channels", false, 0, 0, "uneven channels in parts"}, gains,
                        tuning::kSplitChannelsGain));
    if (changed_) {
      result_.graph = std::move(kept_);
      result_.reference = std::move(reference_);
    }
    return std::move(result_);
  }

 private:
  struct Judgement {
    CalibrationRun run;
    double sqnr_db = 0;
  };

  struct Change {
    std::function<bool(const Graph&)> may_apply;
    // Gives the number of tensors that it changed.
    std::function<Result<size_t>(Graph&, const Plan&, const CalibrationRun&)> apply;
  };
  static Change equalized(const EqualizeOptions& how) {
    return {[how](const Graph& graph) { return !scalable_edges(graph, how.what).empty(); },
            [how](Graph& graph, const Plan& plan, const CalibrationRun& run) {
              return equalize(graph, plan, run, how);
            }};
  }

  Status attempt(const Change& change, MethodGain gain, Switch wanted, double worthwhile) {
    if (wanted == Switch::Off || !change.may_apply(*kept_)) return {};
    if (!best_) {
      EC_TRY(best_, judge(*kept_, reference_));
    }
    std::unique_ptr<Graph> changed = kept_->clone();
    const Plan plan = make_plan(*changed, target_, options_);
    EC_TRY(const size_t tensors, change.apply(*changed, plan, best_->run));
    if (tensors == 0) return {};
    const auto reference = std::make_shared<ReferenceOutputs>(reference_->meaning());
    EC_TRY(const Judgement now, judge(*changed, reference));
    gain.before_db = best_->sqnr_db;
    gain.after_db = now.sqnr_db;
    gain.note += fmt::format(", {} tensors", tensors);
    gain.applied = wanted == Switch::On || now.sqnr_db > best_->sqnr_db + worthwhile;
    if (gain.applied) {
      // Operations that were added have ids that a clone of this graph need not keep.
      kept_ = changed->clone();
      reference_ = reference;
      best_.reset();
      changed_ = true;
    }
    result_.gains.push_back(std::move(gain));
    return {};
  }

  // Judges by samples whose extremes the ranges do not know; all of them where there are few.
  static std::vector<size_t> without(std::span<const size_t> samples,
                                     const std::vector<size_t>& others) {
    std::vector<size_t> rest;
    for (const size_t sample : samples)
      if (std::find(others.begin(), others.end(), sample) == others.end()) rest.push_back(sample);
    return rest.size() < others.size() ? std::vector<size_t>(samples.begin(), samples.end()) : rest;
  }
  // Measures the graph with everything quantised, in ranges that hold what the probe samples show.
  Result<Judgement> judge(const Graph& graph, const std::shared_ptr<ReferenceOutputs>& reference) {
    Plan plan = make_plan(graph, target_, options_);
    CalibrationOptions options;
    options.method = find_observer_method("minmax");
    options.threads = request_.threads;
    Judgement judged;
    EC_TRY(judged.run, calibrate(graph, plan, *request_.samples, probe_, options));
    PlanOptions planned = options_;
    bool changes = keep_unbounded_in_float(graph, plan, judged.run.unbounded, planned);
    // As the search for ranges will have it: one scale for boxes and scores would hide the rest.
    for (const Operation* op : mixed_outputs(graph, plan, judged.run)) {
      planned.chosen[op->id()] = {};
      changes = true;
    }
    if (changes) plan = make_plan(graph, target_, planned);
    EC_TRY(const FormParams params, assign_parameters(graph, plan, judged.run.ranges));
    const LayerWeights weights = round_weights(graph, plan, params);
    EC_TRY(const auto trial, Trial::create(graph, plan, request_.threads, reference));
    for (const size_t index : judge_) EC_CHECK_OK(trial->add_sample(*request_.samples, index));
    EC_TRY(const OutputError error, trial->measure(round_all(graph, plan, params, weights)));
    judged.sqnr_db = error.sqnr_db();
    return judged;
  }

  const TargetSpec& target_;
  std::shared_ptr<ReferenceOutputs> reference_;  // of the kept graph
  const PlanOptions& options_;
  const QuantizeRequest& request_;
  const std::vector<size_t> judge_, probe_;
  std::unique_ptr<Graph> kept_;
  std::optional<Judgement> best_;  // of the kept graph; empty before it was judged
  bool changed_ = false;
  Rescaled result_;
};

}  // namespace

Result<Rescaled> rescale_channels(const Graph& graph, std::shared_ptr<ReferenceOutputs> reference,
                                  const PlanOptions& options, const QuantizeRequest& request,
                                  std::span<const size_t> samples) {
  return Rescaler(std::move(reference), options, request, samples).run(graph);
}

}  // namespace ec::quantize
