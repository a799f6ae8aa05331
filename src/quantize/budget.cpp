#include "quantize/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/op_def.h"
#include "quantize/convert.h"

namespace ec::quantize {
namespace {

struct Outcome {
  double agreement = 1, sqnr_db = 0;  // the worst of all outputs
  bool meets(const AccuracyBudget& budget) const {
    return (!budget.max_drop || 1 - agreement <= *budget.max_drop) &&
           (!budget.min_sqnr || sqnr_db >= *budget.min_sqnr);
  }
};

class Search {
 public:
  Search(const BudgetSearch& given, const AccuracyBudget& budget) : given_(given), budget_(budget) {
    for (const Operation* op : given.graph.topological())
      if (given.noise[op->id()] > 0 && wider(*op)) layers_.push_back(op->id());
    std::stable_sort(layers_.begin(), layers_.end(),
                     [&](uint32_t a, uint32_t b) { return given.noise[a] > given.noise[b]; });
  }

  Result<BudgetResult> run() {
    EC_TRY(const Outcome none, try_first(0));
    if (none.meets(budget_)) return std::move(result_);
    EC_TRY(const Outcome all, try_first(layers_.size()));
    if (!all.meets(budget_)) return not_met(none, all);
    // The errors of layers add up, so that more raised layers are never much worse.
    size_t too_few = 0, enough = layers_.size();
    while (enough - too_few > 1) {
      const size_t middle = too_few + (enough - too_few) / 2;
      EC_TRY(const Outcome outcome, try_first(middle));
      (outcome.meets(budget_) ? enough : too_few) = middle;
    }
    EC_TRY([[maybe_unused]] const Outcome last, try_first(enough));
    return std::move(result_);
  }

 private:
  std::optional<Precision> wider(const Operation& op) const {
    if (given_.target.has_wide && given_.target.describe(op, Width::Wide).integer)
      return Precision::Wide;
    if (!given_.target.integers_only) return Precision::Float;
    return std::nullopt;
  }

  Result<Outcome> try_first(size_t count) {
    BudgetResult& r = result_;
    r.raised.assign(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(count));
    r.options = given_.options;
    for (const uint32_t id : r.raised)
      r.options.chosen[id] = {*wider(*given_.graph.operation(id)), "raised for accuracy"};
    r.plan = make_plan(given_.graph, given_.target, r.options);
    Ranges ranges = given_.run.ranges;
    ranges.wide = given_.run.extremes;
    EC_TRY(r.params, assign_parameters(given_.graph, r.plan, ranges));
    r.weights = round_weights(given_.graph, r.plan, r.params);
    // Corrected biases serve the raised layers as well: the weights are rounded alike.
    for (size_t id = 0; id < r.weights.size(); ++id)
      if (r.weights[id] && given_.weights[id] &&
          r.weights[id]->params == given_.weights[id]->params)
        r.weights[id] = given_.weights[id];
    EC_TRY(const Conversion simulated,
           convert(given_.graph, r.plan, r.params, r.weights, IoType::Float, GraphForm::Simulated));
    EC_TRY(const AccuracyReport accuracy,
           measure_accuracy({given_.graph, r.plan, simulated, r.params, given_.run.needed},
                            *given_.samples, given_.held_out, given_.threads));
    Outcome outcome;
    outcome.sqnr_db = 120;
    for (const OutputAccuracy& output : accuracy.outputs) {
      outcome.sqnr_db = std::min(outcome.sqnr_db, output.error.sqnr_db());
      if (output.top1_agreement)
        outcome.agreement = std::min(outcome.agreement, *output.top1_agreement);
    }
    return outcome;
  }

  Error not_met(const Outcome& none, const Outcome& all) const {
    std::string asked;
    if (budget_.max_drop) asked = fmt::format("--max-drop {}", *budget_.max_drop);
    if (budget_.min_sqnr)
      asked += fmt::format("{}--min-sqnr {}", asked.empty() ? "" : ", ", *budget_.min_sqnr);
    return Error(Code::AccuracyNotMet,
                 fmt::format("{} does not hold: agreement {:.4f}, SQNR {:.1f} dB", asked,
                             none.agreement, none.sqnr_db))
        .note(fmt::format("with all {} layers raised that '{}' allows: agreement {:.4f}, SQNR "
                          "{:.1f} dB",
                          layers_.size(), given_.target.name, all.agreement, all.sqnr_db))
        .hint(given_.target.integers_only
                  ? "the target computes on 8-bit integers only; ask for less, or for another "
                    "target"
                  : "check the calibration data, or ask for less");
  }

  const BudgetSearch& given_;
  const AccuracyBudget& budget_;
  std::vector<uint32_t> layers_;  // that can be raised, the worst first
  BudgetResult result_;
};

}  // namespace

Status check_budget(const Graph& graph, const AccuracyBudget& budget) {
  if (!budget.max_drop || has_score_lists(graph)) return {};
  return Error(Code::Usage,
               "--max-drop counts predictions that change, and the model has none: no "
               "output is a list of scores or made by a softmax")
      .hint("--min-sqnr 30 judges outputs of any kind");
}

Result<BudgetResult> meet_budget(const BudgetSearch& search, const AccuracyBudget& budget) {
  return Search(search, budget).run();
}

}  // namespace ec::quantize
