#include "quantize/strategy/accuracy_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "ops/op_def.h"
#include "quantize/convert/convert.h"
#include "quantize/measure/layer_noise.h"
#include "quantize/trial/rounded_run.h"
#include "quantize/tuning.h"
#include "quantize/weights/correct_bias.h"
#include "support/progress.h"

namespace ec::quantize {
namespace {

struct Outcome {
  double agreement = 1, sqnr_db = 0;  // the worst of all outputs
  std::optional<double> loss = {};    // of the task, where it has sums of its own

  explicit Outcome(const AccuracyReport& report)
      : agreement(report.agreement().value_or(1)),
        sqnr_db(report.worst_sqnr_db()),
        loss(report.task_loss) {}

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
  // One that four digits cannot tell from 1 is told by its distance.
  std::string text() const {
    const double lost = 1 - agreement;
    return fmt::format("agreement {}, SQNR {:.1f} dB",
                       lost > 0 && lost < 5e-5 ? fmt::format("1 - {:.1g}", lost)
                                               : fmt::format("{:.4f}", agreement),
                       sqnr_db);
  }
};

// The wider type of an operation. What a method chose already, the float softmax of precise outputs
// among it, stays as it is.
std::optional<Precision> wider(const BudgetCase& of, const Operation& op) {
  if (of.options.chosen.contains(op.id())) return std::nullopt;
  if (of.target.has_wide && of.target.describe(op, Width::Wide).integer) return Precision::Wide;
  if (!of.target.integers_only) return Precision::Float;
  return std::nullopt;
}

std::vector<uint32_t> layers_to_raise(const BudgetCase& of) {
  std::vector<uint32_t> layers;
  for (const Operation* op : of.graph.topological())
    if (makes_noise(*op, of.plan) && wider(of, *op)) layers.push_back(op->id());
  return layers;
}

PlanOptions with_raised(const BudgetCase& of, const std::vector<uint32_t>& layers) {
  PlanOptions options = of.options;
  for (const uint32_t id : layers)
    options.chosen[id] = {*wider(of, *of.graph.operation(id)), "raised for accuracy"};
  return options;
}

Result<FormParams> wide_parameters(const BudgetCase& of, const Plan& plan) {
  Ranges ranges = of.run.ranges;
  ranges.wide = of.run.extremes;
  return assign_parameters(of.graph, plan, ranges);
}

// A limit with room: a factor of what answers may lose, and dB.
AccuracyBudget relaxed(const AccuracyBudget& budget, double factor, double db) {
  AccuracyBudget wider = budget;
  if (wider.max_drop) *wider.max_drop *= factor;
  if (wider.min_sqnr) *wider.min_sqnr -= db;
  return wider;
}
// Before layers are raised nothing is integer arithmetic yet.
AccuracyBudget about(const AccuracyBudget& budget) { return relaxed(budget, 1.25, 1); }
// Adapted rounding takes back a part of what rounded weights cost, never nine tenths of it.
AccuracyBudget where_adapting_decides(const AccuracyBudget& budget) {
  return relaxed(budget, 10, 10);
}

std::vector<size_t> all_samples(const BudgetCase& of) {
  std::vector<size_t> all(of.held_out.begin(), of.held_out.end());
  all.insert(all.end(), of.also.begin(), of.also.end());
  return all;
}

std::string asked_text(const AccuracyBudget& budget) {
  std::string asked;
  if (budget.max_drop) asked = fmt::format("--max-drop {}", *budget.max_drop);
  if (budget.min_sqnr)
    asked += fmt::format("{}--min-sqnr {}", asked.empty() ? "" : ", ", *budget.min_sqnr);
  return asked;
}

// What is counted, where that is not which class comes first.
std::string task_text(const BudgetCase& of) {
  if (of.meaning.task == nullptr || of.meaning.task->task() == tasks::Task::Classification)
    return {};
  return fmt::format(" ({})", tasks::task_name(of.meaning.task->task()));
}

std::string samples_text(const BudgetCase& of) {
  std::string others;
  if (!of.also.empty())
    others =
        fmt::format(", and where it holds on these also on {} others with them", of.also.size());
  return fmt::format("measured on the {} samples that judge{}{}", of.held_out.size(), task_text(of),
                     others);
}

class Search {
 public:
  Search(const BudgetCase& of, const BudgetSearch& given, const AccuracyBudget& budget)
      : of_(of),
        given_(given),
        budget_(budget),
        layers_(layers_to_raise(of)),
        weights_(given.weights),
        reference_(of.meaning) {
    // Layers are judged in front of a final softmax, which has no noise of its own there.
    for (const JudgedTensor& judged : judged_outputs(of.graph)) {
      const Operation* made_by = judged.tensor->producer();
      if (!judged.softmax_axis || made_by == nullptr) continue;
      for (const Use& use : judged.tensor->uses())
        if (use.op->kind() == OpKind::Softmax && wider(of, *use.op))
          followed_by_[made_by->id()] = use.op->id();
    }
  }

  Result<BudgetResult> run() {
    // Nothing raised, everything raised with up to three kinds of weights, halving, and the result.
    most_tried_ = 5 + static_cast<int64_t>(std::bit_width(layers_.size()));
    EC_TRY(const Outcome none, try_first(0));
    if (none.meets(budget_)) return std::move(result_);
    if (layers_.empty()) return not_met(none, none);
    const auto serves = [&](const Outcome& outcome) {
      return outcome.meets(budget_) && !outcome.costs_answers(none);
    };
    EC_TRY(const Outcome all, try_all());
    if (!serves(all)) return not_met(none, all);
    EC_TRY(const std::vector<double> noise, given_.rank());
    std::ranges::stable_sort(layers_, std::greater(), [&](uint32_t id) { return noise[id]; });
    // The errors of layers add up, so that more raised layers are never much worse.
    size_t too_few = 0, enough = layers_.size();
    while (enough - too_few > 1) {
      const size_t middle = too_few + (enough - too_few) / 2;
      EC_TRY(const Outcome outcome, try_first(middle));
      (serves(outcome) ? enough : too_few) = middle;
    }
    EC_TRY([[maybe_unused]] const Outcome last, try_first(enough));
    report_progress("raising layers", most_tried_, most_tried_);
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
    if (best.meets(budget_) || !given_.adapt || !best.meets(where_adapting_decides(budget_)))
      return best;
    EC_TRY(LayerWeights adapted, given_.adapt());
    EC_CHECK_OK(attempt(std::move(adapted)));
    return best;
  }

  // Corrected biases for the layers whose weights no method has changed yet.
  LayerWeights corrected_weights() const {
    LayerWeights corrected = correct_biases(of_.graph, result_.plan, of_.run, given_.weights);
    for (size_t id = 0; id < corrected.size(); ++id)
      if (given_.weights[id] && given_.weights[id]->adjusted) corrected[id] = given_.weights[id];
    return corrected;
  }

  Result<Outcome> try_first(size_t count) {
    report_progress("raising layers", std::min(++tried_, most_tried_ - 1), most_tried_);
    BudgetResult& r = result_;
    r.raised.assign(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const auto& [layer, softmax] : followed_by_)
      if (std::ranges::find(r.raised, layer) != r.raised.end() &&
          std::ranges::find(r.raised, softmax) == r.raised.end())
        r.raised.push_back(softmax);
    r.options = with_raised(of_, r.raised);
    r.plan = make_plan(of_.graph, of_.target, r.options);
    EC_TRY(r.params, wide_parameters(of_, r.plan));
    r.weights = round_weights(of_.graph, r.plan, r.params);
    // What was made of the weights serves the raised layers as well: they are rounded alike.
    for (size_t id = 0; id < r.weights.size(); ++id)
      if (r.weights[id] && weights_[id] && r.weights[id]->params == weights_[id]->params)
        r.weights[id] = weights_[id];
    EC_TRY(const Conversion simulated,
           convert(of_.graph, r.plan, r.params, r.weights, IoType::Float, GraphForm::Simulated));
    return outcome_of(*simulated.graph);
  }

  // On the samples kept apart; where these have few answers to count, on others together with them.
  Result<Outcome> outcome_of(const Graph& simulated) {
    const auto measured = [&](std::span<const size_t> samples) {
      return measure_outputs(of_.graph, simulated, *of_.samples, samples, of_.threads, reference_);
    };
    EC_TRY(const AccuracyReport apart, measured(of_.held_out));
    Outcome outcome(apart);
    // What does not hold here need not be seen again, but for what others are compared with.
    const bool compared = result_.raised.empty() && outcome.loss.has_value();
    if (of_.also.empty() || !(outcome.meets(budget_) || compared)) return outcome;
    EC_TRY(const AccuracyReport together, measured(all_samples(of_)));
    outcome.agreement = std::min(outcome.agreement, together.agreement().value_or(1));
    outcome.loss = together.task_loss;
    return outcome;
  }

  Error not_met(const Outcome& none, const Outcome& all) const {
    return Error(Code::AccuracyNotMet,
                 fmt::format("{} does not hold: {}", asked_text(budget_), none.text()))
        .note(layers_.empty()
                  ? fmt::format("'{}' has no wider type for any of its layers", of_.target.name)
                  : fmt::format("with all {} layers raised that '{}' allows: {}{}", layers_.size(),
                                of_.target.name, all.text(),
                                all.meets(budget_) ? ", and answers are further off" : ""))
        .note(samples_text(of_))
        .hint(of_.target.integers_only
                  ? "the target computes on 8-bit integers only; ask for less, or for another "
                    "target"
                  : "check the calibration data, or ask for less");
  }

  const BudgetCase& of_;
  const BudgetSearch& given_;
  const AccuracyBudget& budget_;
  std::vector<uint32_t> layers_;  // that can be raised, the worst first once they are ranked
  std::map<uint32_t, uint32_t> followed_by_;  // the softmax that is raised with a layer
  LayerWeights weights_;                      // with which they are tried
  ReferenceOutputs reference_;                // of the samples that judge, with their parts
  BudgetResult result_;
  int64_t tried_ = 0, most_tried_ = 0;
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

namespace {

// All layers raised that can be, with some weights; what cannot be raised is exact.
class Reach {
 public:
  Reach(const BudgetCase& of, std::vector<uint32_t> layers)
      : of_(of),
        layers_(std::move(layers)),
        plan_(make_plan(of.graph, of.target, with_raised(of, layers_))),
        reference_(of.meaning) {}

  Status prepare() {
    EC_TRY(params_, wide_parameters(of_, plan_));
    weights_ = round_weights(of_.graph, plan_, params_);
    return {};
  }
  const Plan& plan() const { return plan_; }
  const LayerWeights& weights() const { return weights_; }
  LayerWeights no_weights() const { return LayerWeights(of_.graph.operation_id_bound()); }

  // On the samples kept apart; where it holds there, on others together with them.
  Result<Outcome> with(const LayerWeights& weights, const AccuracyBudget& wanted) {
    Rounding rounding = round_all(of_.graph, plan_, params_, weights);
    for (FormId form = 0; form < rounding.forms.size(); ++form)
      if (width_of(form) != Width::Wide) rounding.forms[form].reset();
    for (const Operation* op : of_.graph.topological())
      if (plan_.of(op).width != Width::Wide) rounding.weights[op->id()] = nullptr;
    const auto measured = [&](std::span<const size_t> samples) {
      return measure_rounded(of_.graph, plan_, rounding, *of_.samples, samples, of_.threads,
                             reference_);
    };
    EC_TRY(const AccuracyReport apart, measured(of_.held_out));
    Outcome outcome(apart);
    if (of_.also.empty() || !outcome.meets(wanted)) return outcome;
    EC_TRY(const AccuracyReport together, measured(all_samples(of_)));
    outcome.agreement = std::min(outcome.agreement, together.agreement().value_or(1));
    return outcome;
  }

 private:
  const BudgetCase& of_;
  const std::vector<uint32_t> layers_;
  const Plan plan_;
  ReferenceOutputs reference_;
  FormParams params_;
  LayerWeights weights_;
};

}  // namespace

Status check_reach(const BudgetCase& of, const WeightMethods& methods,
                   const AccuracyBudget& budget) {
  const std::vector<uint32_t> layers = layers_to_raise(of);
  // Without a wider type ranges decide, and these are chosen later.
  if (layers.empty()) return {};
  const AccuracyBudget wanted = about(budget);
  Reach reach(of, layers);
  EC_CHECK_OK(reach.prepare());
  EC_TRY(Outcome best, reach.with(reach.weights(), wanted));
  if (best.meets(wanted)) return {};
  if (methods.may_correct_biases) {
    EC_TRY(const Outcome corrected,
           reach.with(correct_biases(of.graph, reach.plan(), of.run, reach.weights()), wanted));
    if (corrected.meets(wanted)) return {};
    if (corrected.is_closer(best, budget)) best = corrected;
  }
  const bool exact =
      best.meets(where_adapting_decides(budget)) && methods.may_adapt(reach.weights());
  if (exact) {
    EC_TRY(best, reach.with(reach.no_weights(), wanted));
    if (best.meets(wanted)) return {};
  }
  return Error(Code::AccuracyNotMet,
               fmt::format("{} cannot hold: {} with all {} layers raised that '{}' allows{}",
                           asked_text(budget), best.text(), layers.size(), of.target.name,
                           exact ? " and no weight rounded" : ""))
      .note(samples_text(of))
      .hint("check the calibration data, or ask for less");
}

Result<BudgetResult> meet_budget(const BudgetCase& of, const BudgetSearch& search,
                                 const AccuracyBudget& budget) {
  return Search(of, search, budget).run();
}

}  // namespace ec::quantize
