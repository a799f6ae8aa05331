// Raises layers to a wider type until the asked accuracy holds: as few as the order of their own
// error allows.
#pragma once

#include <functional>

#include "quantize/measure/accuracy.h"
#include "quantize/request.h"
#include "quantize/weights/weights.h"

namespace ec::quantize {

// What is judged, and on which samples.
struct BudgetCase {
  const Graph& graph;
  const TargetSpec& target;
  const Plan& plan;            // without raised layers
  const PlanOptions& options;  // that it was made with
  const CalibrationRun& run;
  SampleSource* samples = nullptr;
  std::span<const size_t> held_out = {};
  // Others that --max-drop has to hold on together with them: few samples kept apart have few
  // answers to count.
  std::span<const size_t> also = {};
  int threads = 1;
  OutputMeaning meaning = {};  // of the outputs
};

struct BudgetSearch {
  const LayerWeights& weights;  // of the plan without raised layers
  // Noise that each layer makes by itself, by operation id. Asked for where it has to be known.
  std::function<Result<std::vector<double>>()> rank;
  bool may_correct_biases = true;
  // Weights rounded for the results of their layers; empty: not to be tried.
  std::function<Result<LayerWeights>()> adapt = {};
};

struct BudgetResult {
  std::vector<uint32_t> raised;  // operation ids, the worst first
  PlanOptions options;
  Plan plan;
  FormParams params;
  LayerWeights weights;
};

// Usage: the budget speaks of answers, and the outputs have none.
Status check_budget(const Graph& graph, const AccuracyBudget& budget, const OutputMeaning& meaning);

// Which methods may change the weights of raised layers.
struct WeightMethods {
  bool may_correct_biases = true;
  std::function<bool(const LayerWeights&)> may_adapt;
};
// Before anything expensive is tried. AccuracyNotMet: the budget does not hold where all layers are
// raised that can be and all others are exact, with weights as they are rounded and with corrected
// biases; where adapting the rounding could decide, not even with exact weights.
Status check_reach(const BudgetCase& of, const WeightMethods& methods,
                   const AccuracyBudget& budget);

// AccuracyNotMet where raising every layer that can be raised does not help enough.
Result<BudgetResult> meet_budget(const BudgetCase& of, const BudgetSearch& search,
                                 const AccuracyBudget& budget);

}  // namespace ec::quantize
