#include "quantize/strategy/ptq.h"

#include <fmt/format.h>

#include <set>

#include "ops/op_def.h"
#include "quantize/convert/verify.h"
#include "quantize/measure/error_causes.h"
#include "quantize/measure/kept_in_float.h"
#include "quantize/measure/layer_noise.h"
#include "quantize/plan/masked_values.h"
#include "quantize/plan/mixed_ranges.h"
#include "quantize/plan/precise_outputs.h"
#include "quantize/ranges/choose_ranges.h"
#include "quantize/rescale/rescale.h"
#include "quantize/strategy/accuracy_budget.h"
#include "quantize/strategy/steps.h"
#include "quantize/weights/adapt_rounding.h"
#include "quantize/weights/correct_bias.h"
#include "support/progress.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

constexpr StepInfo kSteps[] = {
    {"analyse", "which operations become integer, and which tensors share parameters"},
    {"rescale", "channels made alike between neighbouring layers, where that was measured to help"},
    {"calibrate", "the range of every activation, in one pass over the samples"},
    {"assign", "scales and zero points, equal where the target wants them equal"},
    {"weights", "integer weights, and biases that take back their mean error"},
    {"budget", "layers raised to a wider type until the asked accuracy holds"},
    {"convert", "integer operations; quantize and dequantize at the borders"},
    {"verify", "the rules that quantised graphs keep"},
    {"report", "error of every layer and of the outputs on samples kept apart"},
};

// The search for ranges may take this many products, in at least and at most so many runs.
constexpr double kTrialWork = 1.2e11, kHighEffort = 16;
constexpr size_t kFewestRuns = 256, kMostRuns = 8192;
// Samples that decide: enough that a choice holds for others, few enough that several choices can
// be tried.
constexpr size_t kFewestSamples = 16, kMostSamples = 128, kChoices = 16;
constexpr size_t kExtremes = 4;  // every fourth has extreme values
// Rounding for results lowers the error of every layer; what is left may fall worse in some part.
constexpr Worthwhile kAdapted{0.995, 1.25};
constexpr double kAdaptWork = 1e11, kWeightsMatter = 0.99;
constexpr size_t kAdaptSamples = 64;  // that the rounding of weights looks at
// Of all work that layers may have which make outputs with 16 bits unless asked: LiteRT's kernels
// for these take about 20 times as long as those for 8.
constexpr double kPreciseShare = 0.005, kWorthTheMeans = 0.1;  // dB
// Runs that measure what each layer costs by itself, and how many layers are measured unless asked.
constexpr size_t kShareRuns = 96, kMostShares = 400;

Status refuse_quantized(const Graph& graph) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant)
      return Error(Code::Usage, "the model is quantised already")
          .hint("leave --quantize out: its scales are kept as they are");
  return {};
}

class PtqRun {
 public:
  PtqRun(const Graph& graph, const QuantizeRequest& request, DiagnosticSink& sink)
      : request_(request), sink_(sink), graph_(&graph) {
    options_.integer_outputs = request.io != IoType::Float;
    options_.keep_float = request.keep_float;
    options_.width = request.width;
    options_.weights_per_tensor = request.weights_per_tensor;
    options_.pixel_input = request.pixel_input;
  }

  Result<QuantizeResult> run() {
    EC_CHECK_OK(refuse_quantized(*graph_));
    EC_CHECK_OK(check_budget(*graph_, request_.budget));
    EC_CHECK_OK(describe());
    EC_CHECK_OK(
        step([&] { return plan_ = make_plan(*graph_, *request_.target, options_), Status(); }));
    split_ = split_samples(request_.samples->size(), request_.wanted_samples);
    EC_CHECK_OK(step([&] { return rescale(); }));
    EC_CHECK_OK(step([&] { return calibrate_all(); }));
    EC_CHECK_OK(step([&] { return assign(); }));
    EC_CHECK_OK(step([&] { return make_weights(); }));
    EC_CHECK_OK(step([&] { return keep_budget(); }));
    count_operations(*graph_, plan_, report());
    warn_kept_in_float(report(), sink_);
    EC_CHECK_OK(step([&]() -> Status {
      EC_TRY(Conversion converted,
             convert(*graph_, plan_, params_, weights_, request_.io, request_.form));
      result_.graph = std::move(converted.graph);
      return {};
    }));
    EC_CHECK_OK(step([&] { return verify_quantized(*result_.graph, sink_); }));
    EC_CHECK_OK(step([&] { return measure(); }));
    record();
    return std::move(result_);
  }

 private:
  QuantizeReport& report() { return result_.report; }

  template <class F>
  Status step(F&& f) {
    return steps_.run(std::forward<F>(f));
  }

  Status describe() {
    const bool wide = request_.width == Width::Wide;
    // 16 bits have room for the extremes.
    const std::string_view usual = wide ? "minmax" : all_observer_methods()[0].name;
    method_ = find_observer_method(request_.method.empty() ? usual : request_.method);
    if (method_ == nullptr)
      return Error(Code::Usage,
                   fmt::format("no calibration method '{}'", printable(request_.method)))
          .hint("known: " + observer_method_names());
    report().strategy = wide ? "a16w8" : "ptq";
    report().target = request_.target->name;
    report().method = method_->name;
    report().io_type = io_type_name(request_.io);
    report().preprocessing = request_.preprocessing.text();
    return {};
  }

  Status rescale() {
    if (request_.width == Width::Wide) return {};
    EC_TRY(Rescaled rescaled,
           rescale_channels(*graph_, *request_.target, options_, request_, split_.calibration));
    for (MethodGain& gain : rescaled.gains) report().methods.push_back(std::move(gain));
    if (rescaled.graph == nullptr) return {};
    rescaled_ = std::move(rescaled.graph);
    graph_ = rescaled_.get();
    plan_ = make_plan(*graph_, *request_.target, options_);
    return {};
  }

  Status calibrate_all() {
    CalibrationOptions options;
    options.method = method_;
    options.observer = request_.observer;
    options.threads = request_.threads;
    options.progress = [](size_t done, size_t total) {
      report_progress("calibrating", static_cast<int64_t>(done), static_cast<int64_t>(total));
    };
    EC_TRY(run_, calibrate(*graph_, plan_, *request_.samples, split_.calibration, options));
    report().calibration_samples = run_.samples;
    if (keep_unbounded_in_float(*graph_, plan_, run_.unbounded, options_))
      plan_ = make_plan(*graph_, *request_.target, options_);
    EC_CHECK_OK(split_mixed_outputs());
    check_input_ranges(*graph_, run_, request_.preprocessing, sink_);
    return {};
  }

  // Results that join parts of very different size: as integers they would share one scale, as
  // floats each part keeps its own.
  Status split_mixed_outputs() {
    const std::vector<const Operation*> mixed = mixed_outputs(*graph_, plan_, run_);
    if (mixed.empty()) return {};
    EC_TRY(const double joined_db, sqnr_as_planned());
    for (const Operation* op : mixed) {
      options_.chosen[op->id()] = {Precision::Float,
                                   "the ranges of its operands differ too much for one scale"};
      for (const Tensor* output : outputs_behind(*graph_, *op))
        options_.float_outputs.insert(output->id());
    }
    plan_ = make_plan(*graph_, *request_.target, options_);
    EC_TRY(const double split_db, sqnr_as_planned());
    for (const Operation* op : mixed)
      report().methods.push_back(
          {"split-concat", true, joined_db, split_db,
           fmt::format("'{}' joins floats, its operands keep their own scales",
                       printable(op->location().name()))});
    return {};
  }

  // Outputs that stay floats are not rounded on their way, where that costs little.
  Status make_outputs_precise() {
    const Switch wanted = request_.methods.precise_outputs;
    if (wanted == Switch::Off || !may_be_precise()) return {};
    PreciseOutputs precise =
        precise_outputs(*graph_, plan_, wanted == Switch::On ? 1.0 : kPreciseShare);
    if (precise.choices.empty()) return {};
    EC_TRY(const double rounded_db, sqnr_as_planned());
    choose(precise.choices);
    EC_TRY(double precise_db, sqnr_as_planned());
    size_t operations = precise.choices.size();
    if (!precise.means.empty()) {
      const PlanOptions without = options_;
      choose(precise.means);
      EC_TRY(const double with_means_db, sqnr_as_planned());
      if (with_means_db >= precise_db + kWorthTheMeans) {
        precise_db = with_means_db;
        operations += precise.means.size();
      } else {
        options_ = without;
        plan_ = make_plan(*graph_, *request_.target, options_);
      }
    }
    report().methods.push_back(
        {"precise-outputs", true, rounded_db, precise_db,
         fmt::format("float outputs are not rounded to 8 bits; operations with more: {}",
                     operations)});
    return {};
  }
  void choose(const std::map<uint32_t, Choice>& choices) {
    for (const auto& [id, choice] : choices) options_.chosen[id] = choice;
    plan_ = make_plan(*graph_, *request_.target, options_);
  }
  // ONNX files have the same type everywhere: few of their readers know another.
  bool may_be_precise() const {
    return request_.io == IoType::Float && request_.form == GraphForm::Integer;
  }

  // Of a few samples, with the ranges as calibrated.
  Result<double> sqnr_as_planned() {
    EC_TRY(const FormParams params, assign_parameters(*graph_, plan_, run_.ranges));
    const LayerWeights weights = round_weights(*graph_, plan_, params);
    EC_TRY(const auto trial, Trial::create(*graph_, plan_, request_.threads));
    for (const size_t index : spread(split_.calibration, kFewestSamples))
      EC_CHECK_OK(trial->add_sample(*request_.samples, index));
    EC_TRY(const OutputError error, trial->measure(round_all(*graph_, plan_, params, weights)));
    return error.sqnr_db();
  }

  size_t trial_runs() const {
    const double effort = request_.high_effort ? kHighEffort : 1;
    return static_cast<size_t>(std::clamp(effort * kTrialWork / std::max(1.0, cost_of_run(*graph_)),
                                          static_cast<double>(kFewestRuns),
                                          effort * static_cast<double>(kMostRuns)));
  }

  Status open_trial() {
    EC_TRY(trial_, Trial::create(*graph_, plan_, request_.threads));
    const size_t samples = std::clamp(trial_runs() / kChoices, kFewestSamples, kMostSamples);
    // Those with extreme values stand for themselves, the others for all that are like them.
    std::set<size_t> extreme;
    for (const size_t index : run_.extreme_samples)
      if (extreme.size() < samples / kExtremes) extreme.insert(index);
    std::vector<size_t> usual;
    for (const size_t index : split_.calibration)
      if (!extreme.contains(index)) usual.push_back(index);
    const std::vector<size_t> chosen = spread(usual, samples - extreme.size());
    const auto add = [&](size_t index, size_t stands_for, size_t of) -> Status {
      return trial_->add_sample(*request_.samples, index,
                                static_cast<double>(stands_for) / static_cast<double>(of));
    };
    for (const size_t index : chosen) EC_CHECK_OK(add(index, usual.size(), chosen.size()));
    for (const size_t index : extreme) EC_CHECK_OK(add(index, 1, 1));
    return {};
  }

  Status assign() {
    EC_CHECK_OK(make_outputs_precise());
    EC_CHECK_OK(open_trial());
    EC_TRY(ChosenRanges chosen, choose_ranges(*graph_, plan_, run_, *trial_, trial_runs()));
    run_.ranges = std::move(chosen.ranges);
    if (chosen.widest.signal > 0)
      report().methods.push_back({"choose-ranges", chosen.narrowed > 0, chosen.widest.sqnr_db(),
                                  chosen.chosen.sqnr_db(),
                                  fmt::format("{} ranges narrower than what was seen, tried at the "
                                              "outputs",
                                              chosen.narrowed)});
    EC_TRY(params_, assign_parameters(*graph_, plan_, run_.ranges));
    return {};
  }

  Result<std::vector<OutputError>> errors_with(const LayerWeights& weights) {
    const Rounding rounding = round_all(*graph_, plan_, params_, weights);
    std::vector<OutputError> errors;
    for (size_t subset = 0; subset < trial_->num_subsets(); ++subset) {
      EC_TRY(const OutputError error, trial_->measure_subset(rounding, subset));
      errors.push_back(error);
    }
    return errors;
  }

  Status make_weights() {
    weights_ = round_weights(*graph_, plan_, params_);
    for (const Operation* op : graph_->topological())
      if (weights_[op->id()] && weights_[op->id()]->widened)
        report().widened_weights.push_back(op->input(weights_[op->id()]->operand)->name());
    EC_TRY(errors_, errors_with(weights_));
    EC_CHECK_OK(report_channels());
    EC_CHECK_OK(improve_weights(
        "correct-bias", "mean error of rounded weights", request_.methods.correct_bias, {},
        [&]() -> Result<LayerWeights> { return correct_biases(*graph_, plan_, run_, weights_); }));
    const Switch adapt = request_.methods.adapt_rounding;
    if (adapt == Switch::Auto) {
      EC_TRY(const bool promising, adapting_may_help());
      if (!promising) return {};
    }
    return improve_weights("adapt-rounding", "weights rounded for the results of their layer",
                           adapt, kAdapted, [&] { return adapted_weights(); });
  }

  Result<LayerWeights> adapted_weights() {
    AdaptRoundingOptions options;
    options.inputs.threads = request_.threads;
    EC_TRY(const LayerWeights adapted,
           adapt_rounding(*graph_, round_weights(*graph_, plan_, params_), *request_.samples,
                          spread(split_.calibration, kAdaptSamples), options));
    return correct_biases(*graph_, plan_, run_, adapted);
  }
  // It takes no longer than the rest, or is asked for.
  bool may_adapt() const {
    if (request_.methods.adapt_rounding != Switch::Auto)
      return request_.methods.adapt_rounding == Switch::On;
    return request_.high_effort || adapting_cost(*graph_, weights_, {}) <= kAdaptWork;
  }

  // What a scale for each channel of the weights is worth.
  Status report_channels() {
    const auto layers = std::count_if(weights_.begin(), weights_.end(), [](const auto& weights) {
      return weights && weights->params.per_channel();
    });
    if (layers == 0) return {};
    PlanOptions options = options_;
    options.weights_per_tensor = true;
    const Plan plan = make_plan(*graph_, *request_.target, options);
    EC_TRY(const std::vector<OutputError> joined,
           errors_with(round_weights(*graph_, plan, params_)));
    report().methods.push_back({"per-channel-weights", true, sum_of(joined).sqnr_db(),
                                sum_of(errors_).sqnr_db(),
                                fmt::format("a scale for each channel, {} layers", layers)});
    return {};
  }

  // Where the rounding of weights makes a part of the noise.
  Result<bool> adapting_may_help() {
    if (!may_adapt()) return false;
    EC_TRY(const std::vector<OutputError> exact, errors_with(LayerWeights(weights_.size())));
    return sum_of(exact).judged < kWeightsMatter * sum_of(errors_).judged;
  }

  // Takes what a method makes of the weights where it is asked for or measured to help.
  template <class F>
  Status improve_weights(std::string method, std::string note, Switch wanted,
                         const Worthwhile& worthwhile, F&& make) {
    if (wanted == Switch::Off) return {};
    EC_TRY(LayerWeights tried, make());
    MethodGain gain{std::move(method), false, 0, 0, std::move(note)};
    EC_TRY(std::vector<OutputError> after, errors_with(tried));
    gain.before_db = sum_of(errors_).sqnr_db();
    gain.after_db = sum_of(after).sqnr_db();
    gain.applied = wanted == Switch::On || is_better(after, errors_, worthwhile);
    report().methods.push_back(gain);
    if (!gain.applied) return {};
    weights_ = std::move(tried);
    errors_ = std::move(after);
    return {};
  }

  Status keep_budget() {
    if (!request_.budget.asked()) return {};
    EC_TRY(const std::vector<double> noise,
           layer_noise(*graph_, plan_, params_, weights_, *trial_));
    BudgetSearch search{*graph_, *request_.target, options_, run_, weights_, noise};
    search.may_correct_biases = request_.methods.correct_bias != Switch::Off;
    if (may_adapt()) search.adapt = [this] { return adapted_weights(); };
    search.samples = request_.samples;
    search.held_out = split_.held_out;
    search.threads = request_.threads;
    EC_TRY(BudgetResult result, meet_budget(search, request_.budget));
    for (const uint32_t id : result.raised) {
      const Operation* op = graph_->operation(id);
      const bool wide = result.options.chosen.at(id).precision == Precision::Wide;
      report().raised.push_back({std::string(op->location().name()), std::string(op->def().name),
                                 wide ? "16-bit activations" : "float",
                                 cost_of(*op) / std::max(1.0, cost_of_run(*graph_)),
                                 !wide && request_.target->integers_only});
    }
    if (result.raised.empty()) return {};
    options_ = std::move(result.options);
    plan_ = std::move(result.plan);
    params_ = std::move(result.params);
    weights_ = std::move(result.weights);
    return open_trial();
  }

  Status measure() {
    EC_TRY(const Conversion simulated,
           convert(*graph_, plan_, params_, weights_, IoType::Float, GraphForm::Simulated));
    EC_TRY(report().accuracy,
           measure_accuracy({*graph_, plan_, simulated, params_, run_.needed}, *request_.samples,
                            split_.held_out, request_.threads));
    report().accuracy.held_out = !split_.overlap;
    // Few samples suffice for shares; the runs of a deep network are bounded.
    const auto layers = static_cast<size_t>(report().integer_ops);
    if (request_.high_effort || layers <= kMostShares) {
      trial_->keep_samples(std::max<size_t>(1, kShareRuns / std::max<size_t>(1, layers)));
      EC_TRY(const std::vector<double> noise,
             layer_noise(*graph_, plan_, params_, weights_, *trial_));
      fill_shares(report().accuracy, noise);
    }
    name_causes(*graph_, plan_, run_, params_, report().accuracy);
    return {};
  }

  // What whoever finds the file later needs to feed it right.
  void record() {
    auto& metadata = result_.graph->metadata();
    metadata["quantization"] =
        fmt::format("{} {}, {} calibration of {} samples", report().strategy,
                    request_.width == Width::Wide ? "int16 activations, int8 weights" : "int8",
                    report().method, report().calibration_samples);
    metadata["preprocessing"] = report().preprocessing;
  }

  const QuantizeRequest& request_;
  DiagnosticSink& sink_;
  const Graph* graph_;
  std::unique_ptr<Graph> rescaled_;
  const ObserverMethod* method_ = nullptr;
  PlanOptions options_;
  Plan plan_;
  SampleSplit split_;
  CalibrationRun run_;
  std::unique_ptr<Trial> trial_;
  FormParams params_;
  LayerWeights weights_;
  std::vector<OutputError> errors_;  // with those weights, by subset of the samples
  QuantizeResult result_;
  Steps steps_{kSteps, result_.report};
};

}  // namespace

std::span<const StepInfo> ptq_steps() { return kSteps; }

Result<QuantizeResult> run_ptq(const Graph& graph, const QuantizeRequest& request,
                               DiagnosticSink& sink) {
  return PtqRun(graph, request, sink).run();
}

Result<QuantizeResult> run_a16w8(const Graph& graph, const QuantizeRequest& request,
                                 DiagnosticSink& sink) {
  if (!request.target->has_wide)
    return Error(Code::Usage, fmt::format("target '{}' has no operations with 16-bit activations",
                                          request.target->name))
        .hint("use --quantize ptq, or another target");
  QuantizeRequest wide = request;
  wide.width = Width::Wide;
  return PtqRun(graph, wide, sink).run();
}

}  // namespace ec::quantize
