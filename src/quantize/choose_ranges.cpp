#include "quantize/choose_ranges.h"

#include <algorithm>

namespace ec::quantize {
namespace {

// A range has to reduce the noise by this much: smaller gains are those of the samples tried, not
// of samples to come.
constexpr double kWorthwhile = 0.97, kWorthwhileAlone = 0.95;

class Chooser {
 public:
  Chooser(const Graph& graph, const Plan& plan, const CalibrationRun& run, Trial& trial,
          size_t runs)
      : graph_(graph), plan_(plan), run_(run), trial_(trial), runs_left_(runs) {
    choice_.resize(plan.group.size(), 0);
    for (const auto& candidates : run.candidates)
      num_candidates_ = std::max(num_candidates_, candidates.size());
  }

  Result<Ranges> choose() {
    if (num_candidates_ < 2 || trial_.samples() == 0) return run_.ranges;
    EC_TRY(const FormParams params, assign_parameters(graph_, plan_, run_.ranges));
    weights_ = round_weights(graph_, plan_, params);
    EC_CHECK_OK(try_all_alike());
    for (const FormId group : by_difference()) EC_CHECK_OK(try_group(group));
    return ranges();
  }

 private:
  Ranges ranges() const {
    Ranges ranges = run_.ranges;
    for (const Tensor* tensor : graph_.tensors()) {
      const auto& candidates = run_.candidates[tensor->id()];
      if (candidates.empty()) continue;
      const size_t wanted = choice_[plan_.group[plan_.stored_form(tensor)]];
      ranges[tensor->id()] = candidates[std::min(wanted, candidates.size() - 1)];
    }
    return ranges;
  }

  // Of the present choice; infinite when there are no runs left.
  Result<double> noise() {
    if (runs_left_ < trial_.samples()) return std::numeric_limits<double>::infinity();
    runs_left_ -= trial_.samples();
    EC_TRY(const FormParams params, assign_parameters(graph_, plan_, ranges()));
    EC_TRY(const OutputError error, trial_.measure(round_all(graph_, plan_, params, weights_)));
    return error.noise;
  }

  Status try_all_alike() {
    size_t best = 0;
    for (size_t k = 0; k < num_candidates_; ++k) {
      std::fill(choice_.begin(), choice_.end(), k);
      EC_TRY(const double noise_now, noise());
      if (k == 0 || noise_now < kWorthwhile * best_) {
        best_ = noise_now;
        best = k;
      }
    }
    std::fill(choice_.begin(), choice_.end(), best);
    return {};
  }

  Status try_group(FormId group) {
    const size_t before = choice_[group];
    size_t best = before;
    for (size_t k = 0; k < num_candidates_ && runs_left_ >= trial_.samples(); ++k) {
      if (k == before) continue;
      choice_[group] = k;
      EC_TRY(const double noise_now, noise());
      if (noise_now >= kWorthwhileAlone * best_) continue;
      best_ = noise_now;
      best = k;
    }
    choice_[group] = best;
    return {};
  }

  // Groups whose candidates differ, the widest against the narrowest first.
  std::vector<FormId> by_difference() const {
    std::vector<double> ratio(plan_.group.size(), 1.0);
    for (const Tensor* tensor : graph_.tensors()) {
      const auto& candidates = run_.candidates[tensor->id()];
      const FormId group = plan_.group[plan_.stored_form(tensor)];
      if (candidates.empty() || plan_.fixed[group] || width_of(group) == Width::Wide) continue;
      double widest = 0, narrowest = std::numeric_limits<double>::infinity();
      for (const Range& range : candidates) {
        const double size = span_with_zero(range);
        widest = std::max(widest, size);
        narrowest = std::min(narrowest, size);
      }
      if (narrowest > 0) ratio[group] = std::max(ratio[group], widest / narrowest);
    }
    constexpr double kSame = 1.05;
    std::vector<FormId> groups;
    for (FormId group = 0; group < ratio.size(); ++group)
      if (ratio[group] > kSame) groups.push_back(group);
    std::stable_sort(groups.begin(), groups.end(),
                     [&](FormId a, FormId b) { return ratio[a] > ratio[b]; });
    return groups;
  }

  const Graph& graph_;
  const Plan& plan_;
  const CalibrationRun& run_;
  Trial& trial_;
  size_t runs_left_;
  size_t num_candidates_ = 0;
  LayerWeights weights_;
  std::vector<size_t> choice_;  // by group
  double best_ = 0;
};

}  // namespace

Result<Ranges> choose_ranges(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                             Trial& trial, size_t runs) {
  return Chooser(graph, plan, run, trial, runs).choose();
}

}  // namespace ec::quantize
