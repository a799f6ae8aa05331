#include "quantize/ranges/choose_ranges.h"

#include <algorithm>
#include <limits>
#include <map>

#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

class Chooser {
 public:
  Chooser(const Graph& graph, const Plan& plan, const CalibrationRun& run, Trial& trial,
          size_t runs)
      : graph_(graph), plan_(plan), run_(run), trial_(trial), runs_left_(runs) {
    choice_.resize(plan.group.size(), 0);
    kept_.resize(plan.group.size(), false);
    // Clipped, the largest scores become equal and the order of answers is lost.
    for (const JudgedTensor& judged : judged_outputs(graph))
      kept_[plan.group[plan.stored_form(judged.tensor)]] = true;
    for (const auto& candidates : run.candidates)
      num_candidates_ = std::max(num_candidates_, candidates.size());
  }

  Result<ChosenRanges> choose() {
    if (num_candidates_ < 2 || trial_.samples() == 0) return ChosenRanges{run_.ranges, {}, {}, 0};
    EC_TRY(const FormParams params, assign_parameters(graph_, plan_, run_.ranges));
    weights_ = round_weights(graph_, plan_, params);
    EC_CHECK_OK(try_all_alike());
    EC_CHECK_OK(try_kinds());
    EC_CHECK_OK(try_each_group());
    return ChosenRanges{ranges(), widest_, sum_of(best_), count_narrowed()};
  }

 private:
  Ranges ranges() const {
    Ranges ranges = run_.ranges;
    for (const Tensor* tensor : graph_.tensors()) {
      const auto& candidates = run_.candidates[tensor->id()];
      if (candidates.empty()) continue;
      const FormId group = plan_.group[plan_.stored_form(tensor)];
      const size_t wanted = kept_[group] ? 0 : choice_[group];
      ranges[tensor->id()] = candidates[std::min(wanted, candidates.size() - 1)];
    }
    return ranges;
  }

  size_t count_narrowed() const {
    size_t count = 0;
    const Ranges chosen = ranges();
    for (const Tensor* tensor : graph_.tensors()) {
      const auto& candidates = run_.candidates[tensor->id()];
      count += !candidates.empty() && *chosen[tensor->id()] != candidates[0];
    }
    return count;
  }

  // Takes the present choice as the best one where it is better by that factor, judged by the first
  // subsets.
  Result<bool> is_better_choice(const tuning::NoiseFactors& wanted, size_t subsets) {
    EC_TRY(const FormParams params, assign_parameters(graph_, plan_, ranges()));
    const Rounding rounding = round_all(graph_, plan_, params, weights_);
    std::vector<OutputError> errors;
    for (size_t subset = 0; subset < subsets; ++subset) {
      if (runs_left_ < trial_.subset_size(subset)) return false;
      runs_left_ -= trial_.subset_size(subset);
      EC_TRY(const OutputError error, trial_.measure_subset(rounding, subset));
      // No need to look at the others.
      if (!best_.empty() && error.judged > wanted.subset * best_[subset].judged) return false;
      errors.push_back(error);
    }
    if (!best_.empty() && !is_better(errors, best_, wanted)) return false;
    best_ = std::move(errors);
    return true;
  }

  Status try_all_alike() {
    size_t best = 0;
    for (size_t k = 0; k < num_candidates_; ++k) {
      std::fill(choice_.begin(), choice_.end(), k);
      EC_TRY(const bool better, is_better_choice(tuning::kKeepForAll, trial_.num_subsets()));
      if (better) best = k;
      if (k == 0) widest_ = sum_of(best_);
    }
    std::fill(choice_.begin(), choice_.end(), best);
    return {};
  }

  // Groups of tensors that operations of the same kind make: the sums of residuals want other
  // ranges than what activations give. So few choices that chance finds little to choose from.
  Status try_kinds() {
    for (const std::vector<FormId>& groups : by_kind()) {
      const auto set = [&](size_t k) {
        for (const FormId group : groups) choice_[group] = k;
      };
      size_t best = choice_[groups[0]];
      for (size_t k = 0; k < num_candidates_; ++k) {
        if (k == best) continue;
        set(k);
        EC_TRY(const bool better, is_better_choice(tuning::kKeepForKind, trial_.num_subsets()));
        if (better) best = k;
      }
      set(best);
    }
    return {};
  }

  // One group after the other: many choices, each made by the same samples, of which some look
  // better by chance. The first half of the samples chooses, the other has to agree with the whole.
  Status try_each_group() {
    const size_t half = trial_.num_subsets() / 2;
    if (half == 0) return {};
    const std::vector<OutputError> alike = best_;
    const std::vector<size_t> choice = choice_;
    best_.resize(half);
    for (const FormId group : by_difference()) EC_CHECK_OK(try_group(group, half));
    if (choice_ == choice) return best_ = alike, Status();
    EC_TRY(const std::vector<OutputError> errors, errors_of_choice());
    if (is_better(std::span(errors).subspan(half), std::span(alike).subspan(half),
                  tuning::kConfirmGroups))
      return best_ = errors, Status();
    choice_ = choice;
    best_ = alike;
    return {};
  }

  Result<std::vector<OutputError>> errors_of_choice() {
    EC_TRY(const FormParams params, assign_parameters(graph_, plan_, ranges()));
    const Rounding rounding = round_all(graph_, plan_, params, weights_);
    std::vector<OutputError> errors(trial_.num_subsets());
    for (size_t subset = 0; subset < errors.size(); ++subset) {
      EC_TRY(errors[subset], trial_.measure_subset(rounding, subset));
    }
    return errors;
  }

  Status try_group(FormId group, size_t subsets) {
    size_t best = choice_[group];
    for (size_t k = 0; k < num_candidates_ && runs_left_ > 0; ++k) {
      if (k == best) continue;
      choice_[group] = k;
      EC_TRY(const bool better, is_better_choice(tuning::kKeepForGroup, subsets));
      if (better) best = k;
    }
    choice_[group] = best;
    return {};
  }

  // The kind with the most groups first.
  std::vector<std::vector<FormId>> by_kind() const {
    std::map<OpKind, std::vector<FormId>> kinds;
    std::vector<bool> known = kept_;
    for (const Operation* op : graph_.topological())
      for (const Tensor* tensor : op->outputs()) {
        const FormId group = plan_.group[plan_.stored_form(tensor)];
        if (run_.candidates[tensor->id()].empty() || known[group]) continue;
        known[group] = true;
        kinds[op->kind()].push_back(group);
      }
    std::vector<std::vector<FormId>> groups;
    for (auto& [kind, of_kind] : kinds) groups.push_back(std::move(of_kind));
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return groups;
  }

  // Groups whose candidates differ, the widest against the narrowest first.
  std::vector<FormId> by_difference() const {
    std::vector<double> ratio(plan_.group.size(), 1.0);
    for (const Tensor* tensor : graph_.tensors()) {
      const auto& candidates = run_.candidates[tensor->id()];
      const FormId group = plan_.group[plan_.stored_form(tensor)];
      if (candidates.empty() || plan_.fixed[group] || kept_[group] ||
          width_of(group) == Width::Wide)
        continue;
      double widest = 0, narrowest = std::numeric_limits<double>::infinity();
      for (const Range& range : candidates) {
        const double size = span_with_zero(range);
        widest = std::max(widest, size);
        narrowest = std::min(narrowest, size);
      }
      if (narrowest > 0) ratio[group] = std::max(ratio[group], widest / narrowest);
    }
    std::vector<FormId> groups;
    for (FormId group = 0; group < ratio.size(); ++group)
      if (ratio[group] > tuning::kSameRange) groups.push_back(group);
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
  std::vector<size_t> choice_;     // by group
  std::vector<bool> kept_;         // groups that keep their extremes
  std::vector<OutputError> best_;  // by subset; empty before the first run
  OutputError widest_;
};

}  // namespace

Result<ChosenRanges> choose_ranges(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                                   Trial& trial, size_t runs) {
  return Chooser(graph, plan, run, trial, runs).choose();
}

}  // namespace ec::quantize
