#include "quantize/rescale.h"

#include "quantize/equalize.h"
#include "quantize/trial.h"

namespace ec::quantize {
namespace {

// Enough to see how channels compare; the ranges themselves come from all samples.
constexpr size_t kProbeSamples = 16;
constexpr size_t kJudgeSamples = 4;
// Less than this is noise of the measurement.
constexpr double kWorthwhileDb = 0.2;
// A minimum behind every relu6 costs time: it has to be worth it.
constexpr double kWorthOperationsDb = 3;

class Rescaler {
 public:
  Rescaler(const TargetSpec& target, const PlanOptions& options, const QuantizeRequest& request,
           std::span<const size_t> samples)
      : target_(target),
        options_(options),
        request_(request),
        probe_(spread(samples, kProbeSamples)),
        judge_(spread(samples, kJudgeSamples)) {}

  Result<Rescaled> run(const Graph& graph) {
    Rescaled result;
    if (request_.methods.equalize == Switch::Off && request_.methods.balance == Switch::Off)
      return result;
    // Clones of a clone have its ids, so that what was seen of one serves the next.
    std::unique_ptr<Graph> kept = graph.clone();
    EC_TRY(Judged best, judge(*kept));
    bool changed_any = false;
    const auto attempt = [&](const EqualizeOptions& how, MethodGain gain, Switch wanted,
                             double worthwhile) -> Status {
      if (wanted == Switch::Off) return {};
      std::unique_ptr<Graph> changed = kept->clone();
      EC_TRY(const size_t tensors, equalize(*changed, best.run, how));
      if (tensors == 0) return {};
      EC_TRY(Judged now, judge(*changed));
      gain.before_db = best.sqnr_db;
      gain.after_db = now.sqnr_db;
      gain.note = fmt_note(gain.note, tensors);
      gain.applied = wanted == Switch::On || now.sqnr_db > best.sqnr_db + worthwhile;
      if (gain.applied) {
        // A minimum that was added has an id that a clone of this graph need not keep.
        kept = changed->clone();
        EC_TRY(best, judge(*kept));
        changed_any = true;
      }
      result.gains.push_back(std::move(gain));
      return {};
    };
    if (options_.weights_per_tensor || request_.methods.equalize == Switch::On) {
      EC_CHECK_OK(attempt({Equalization::Weights, false},
                          {"equalize", false, 0, 0, "weights of neighbouring layers"},
                          request_.methods.equalize, kWorthwhileDb));
      EC_CHECK_OK(attempt({Equalization::Weights, true},
                          {"equalize-bounds", false, 0, 0, "relu6 with a bound per channel"},
                          request_.methods.equalize == Switch::Off ? Switch::Off : Switch::Auto,
                          kWorthOperationsDb));
    }
    EC_CHECK_OK(attempt({Equalization::Activations, false},
                        {"balance", false, 0, 0, "activations against the weights behind"},
                        request_.methods.balance, kWorthwhileDb));
    if (changed_any) result.graph = std::move(kept);
    return result;
  }

 private:
  struct Judged {
    CalibrationRun run;
    double sqnr_db = 0;
  };

  static std::string fmt_note(const std::string& what, size_t tensors) {
    return what + ", " + std::to_string(tensors) + " tensors";
  }

  // Of everything quantised with the extremes that the probe sees.
  Result<Judged> judge(const Graph& graph) {
    const Plan plan = make_plan(graph, target_, options_);
    CalibrationOptions options;
    options.method = find_observer_method("minmax");
    options.threads = request_.threads;
    Judged judged;
    EC_TRY(judged.run, calibrate(graph, plan, *request_.samples, probe_, options));
    EC_TRY(const FormParams params, assign_parameters(graph, plan, judged.run.ranges));
    const LayerWeights weights = round_weights(graph, plan, params);
    EC_TRY(const auto trial, Trial::create(graph, plan, request_.threads));
    for (const size_t index : judge_) {
      EC_TRY(std::vector<Value> sample, request_.samples->read(index));
      EC_CHECK_OK(trial->add_sample(std::move(sample)));
    }
    EC_TRY(const OutputError error, trial->measure(round_all(graph, plan, params, weights)));
    judged.sqnr_db = error.sqnr_db();
    return judged;
  }

  const TargetSpec& target_;
  const PlanOptions& options_;
  const QuantizeRequest& request_;
  const std::vector<size_t> probe_, judge_;
};

}  // namespace

Result<Rescaled> rescale_channels(const Graph& graph, const TargetSpec& target,
                                  const PlanOptions& options, const QuantizeRequest& request,
                                  std::span<const size_t> samples) {
  return Rescaler(target, options, request, samples).run(graph);
}

std::vector<size_t> spread(std::span<const size_t> samples, size_t count) {
  std::vector<size_t> chosen;
  count = std::min(count, samples.size());
  for (size_t i = 0; i < count; ++i) chosen.push_back(samples[i * samples.size() / count]);
  return chosen;
}

}  // namespace ec::quantize
