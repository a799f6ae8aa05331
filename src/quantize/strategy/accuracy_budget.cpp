#include "quantize/strategy/accuracy_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/op_def.h"
#include "quantize/convert/convert.h"
#include "quantize/trial/rounded_run.h"
#include "quantize/tuning.h"
#include "quantize/weights/correct_bias.h"

namespace ec::quantize {
namespace {

struct Outcome {
  double agreement = 1, sqnr_db = 0;  // the worst of all outputs
  std::optional<double> loss = {};    // of the task, where it has sums of its own

  bool meets(const AccuracyBudget& budget) const {
    return (!budget.max_drop || 1 - agreement <= *budget.max_drop) &&
           (!budget.min_sqnr || sqnr_db >= *budget.min_sqnr);
  }
  // Less noise in every part is no reason to lose answers.
  bool costs_answers(const Outcome& before) const {
    return loss && before.loss && *loss > *before.loss;
  }
  // By what was asked for. Answers of few samples are often equal: what the task loses tells more.
  bool is_closer(const Outcome& other, const AccuracyBudget& budget) const {
    if (!budget.max_drop) return sqnr_db > other.sqnr_db;
    if (agreement != other.agreement) return agreement > other.agreement;
    return loss && other.loss ? *loss < *other.loss : sqnr_db > other.sqnr_db;
  }
};

class Search {
 public:
  Search(const BudgetSearch& given, const AccuracyBudget& budget)
      : given_(given), budget_(budget), weights_(given.weights), reference_(given.meaning) {
    for (const Operation* op : given.graph.topological())
      if (given.noise[op->id()] > 0 && may_raise(*op)) layers_.push_back(op->id());
    std::stable_sort(layers_.begin(), layers_.end(),
                     [&](uint32_t a, uint32_t b) { return given.noise[a] > given.noise[b]; });
    // Layers are judged in front of a final softmax, which has no noise of its own there.
    for (const JudgedTensor& judged : judged_outputs(given.graph)) {
      const Operation* made_by = judged.tensor->producer();
      if (!judged.softmax_axis || made_by == nullptr) continue;
      for (const Use& use : judged.tensor->uses())
        if (use.op->kind() == OpKind::Softmax && may_raise(*use.op))
          followed_by_[made_by->id()] = use.op->id();
    }
  }

  Result<BudgetResult> run() {
    EC_TRY(const Outcome none, try_first(0));
    if (none.meets(budget_)) return std::move(result_);
    const auto serves = [&](const Outcome& outcome) {
      return outcome.meets(budget_) && !outcome.costs_answers(none);
    };
    EC_TRY(const Outcome all, try_all());
    if (!serves(all)) return not_met(none, all);
    // The errors of layers add up, so that more raised layers are never much worse.
    size_t too_few = 0, enough = layers_.size();
    while (enough - too_few > 1) {
      const size_t middle = too_few + (enough - too_few) / 2;
      EC_TRY(const Outcome outcome, try_first(middle));
      (serves(outcome) ? enough : too_few) = middle;
    }
    EC_TRY([[maybe_unused]] const Outcome last, try_first(enough));
    return std::move(result_);
  }

 private:
  // Next to the noise of 8-bit activations the errors of rounded weights may not be worth what
  // takes them back; without that noise they may be most of what is left.
  Result<Outcome> try_all() {
    EC_TRY(Outcome best, try_first(layers_.size()));
    const auto attempt = [&](LayerWeights weights) -> Status {
      weights.swap(weights_);
      EC_TRY(const Outcome outcome, try_first(layers_.size()));
      if (outcome.is_closer(best, budget_))
        best = outcome;
      else
        weights.swap(weights_);
      return {};
    };
    if (best.meets(budget_)) return best;
    if (given_.may_correct_biases) EC_CHECK_OK(attempt(corrected_weights()));
    if (best.meets(budget_) || !given_.adapt) return best;
    EC_TRY(LayerWeights adapted, given_.adapt());
    EC_CHECK_OK(attempt(std::move(adapted)));
    return best;
  }

  // Corrected biases for the layers whose weights no method has changed yet.
  LayerWeights corrected_weights() const {
    LayerWeights corrected = correct_biases(given_.graph, result_.plan, given_.run, given_.weights);
    for (size_t id = 0; id < corrected.size(); ++id)
      if (given_.weights[id] && given_.weights[id]->adjusted) corrected[id] = given_.weights[id];
    return corrected;
  }

  // What a method chose already, the float softmax of precise outputs among it, stays as it is.
  bool may_raise(const Operation& op) const {
    return !given_.options.chosen.contains(op.id()) && wider(op);
  }
  std::optional<Precision> wider(const Operation& op) const {
    if (given_.target.has_wide && given_.target.describe(op, Width::Wide).integer)
      return Precision::Wide;
    if (!given_.target.integers_only) return Precision::Float;
    return std::nullopt;
  }

  Result<Outcome> try_first(size_t count) {
    BudgetResult& r = result_;
    r.raised.assign(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const auto& [layer, softmax] : followed_by_)
      if (std::ranges::find(r.raised, layer) != r.raised.end()) r.raised.push_back(softmax);
    r.options = given_.options;
    for (const uint32_t id : r.raised)
      r.options.chosen[id] = {*wider(*given_.graph.operation(id)), "raised for accuracy"};
    r.plan = make_plan(given_.graph, given_.target, r.options);
    Ranges ranges = given_.run.ranges;
    ranges.wide = given_.run.extremes;
    EC_TRY(r.params, assign_parameters(given_.graph, r.plan, ranges));
    r.weights = round_weights(given_.graph, r.plan, r.params);
    // What was made of the weights serves the raised layers as well: they are rounded alike.
    for (size_t id = 0; id < r.weights.size(); ++id)
      if (r.weights[id] && weights_[id] && r.weights[id]->params == weights_[id]->params)
        r.weights[id] = weights_[id];
    EC_TRY(const Conversion simulated,
           convert(given_.graph, r.plan, r.params, r.weights, IoType::Float, GraphForm::Simulated));
    return outcome_of(*simulated.graph);
  }

  // On the samples kept apart; where these have few answers to count, on others together with them.
  Result<Outcome> outcome_of(const Graph& simulated) {
    const auto measured = [&](std::span<const size_t> samples) {
      return measure_outputs(given_.graph, simulated, *given_.samples, samples, given_.threads,
                             reference_);
    };
    EC_TRY(const AccuracyReport apart, measured(given_.held_out));
    Outcome outcome{apart.agreement().value_or(1), apart.worst_sqnr_db(), apart.task_loss};
    // What does not hold here need not be seen again, but for what others are compared with.
    const bool compared = result_.raised.empty() && outcome.loss.has_value();
    if (given_.also.empty() || !(outcome.meets(budget_) || compared)) return outcome;
    std::vector<size_t> all(given_.held_out.begin(), given_.held_out.end());
    all.insert(all.end(), given_.also.begin(), given_.also.end());
    EC_TRY(const AccuracyReport together, measured(all));
    outcome.agreement = std::min(outcome.agreement, together.agreement().value_or(1));
    outcome.loss = together.task_loss;
    return outcome;
  }

  // What is counted, where that is not which class comes first.
  std::string agreement_name() const {
    if (given_.meaning.task == nullptr ||
        given_.meaning.task->task() == tasks::Task::Classification)
      return {};
    return fmt::format(" ({})", tasks::task_name(given_.meaning.task->task()));
  }

  Error not_met(const Outcome& none, const Outcome& all) const {
    std::string asked;
    if (budget_.max_drop) asked = fmt::format("--max-drop {}", *budget_.max_drop);
    if (budget_.min_sqnr)
      asked += fmt::format("{}--min-sqnr {}", asked.empty() ? "" : ", ", *budget_.min_sqnr);
    return Error(Code::AccuracyNotMet,
                 fmt::format("{} does not hold: agreement{} {:.4f}, SQNR {:.1f} dB", asked,
                             agreement_name(), none.agreement, none.sqnr_db))
        .note(
            layers_.empty()
                ? fmt::format("'{}' has no wider type for any of its layers", given_.target.name)
                : fmt::format("with all {} layers raised that '{}' allows: agreement {:.4f}, SQNR "
                              "{:.1f} dB{}",
                              layers_.size(), given_.target.name, all.agreement, all.sqnr_db,
                              all.meets(budget_) ? ", and answers are further off" : ""))
        .hint(given_.target.integers_only
                  ? "the target computes on 8-bit integers only; ask for less, or for another "
                    "target"
                  : "check the calibration data, or ask for less");
  }

  const BudgetSearch& given_;
  const AccuracyBudget& budget_;
  std::vector<uint32_t> layers_;              // that can be raised, the worst first
  std::map<uint32_t, uint32_t> followed_by_;  // the softmax that is raised with a layer
  LayerWeights weights_;                      // with which they are tried
  ReferenceOutputs reference_;                // of the samples that judge, with their parts
  BudgetResult result_;
};

}  // namespace

Status check_budget(const Graph& graph, const AccuracyBudget& budget,
                    const OutputMeaning& meaning) {
  if (!budget.max_drop || has_score_lists(graph) || meaning.task != nullptr) return {};
  for (const auto& parts : meaning.parts)
    for (const OutputPart& part : parts)
      if (part.meaning == PartMeaning::Scores) return {};
  return Error(Code::Usage,
               "--max-drop counts answers that change, and the model has none: no output holds "
               "scores or is made by a softmax, and the outputs are those of no known task")
      .hint("--min-sqnr 30 judges outputs of any kind");
}

Result<BudgetResult> meet_budget(const BudgetSearch& search, const AccuracyBudget& budget) {
  return Search(search, budget).run();
}

}  // namespace ec::quantize
