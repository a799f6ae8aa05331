// Raises layers to a wider type until the asked accuracy holds: as few as the order of their own
// error allows.
#pragma once

#include <functional>

#include "quantize/measure/accuracy.h"
#include "quantize/request.h"
#include "quantize/weights/weights.h"

namespace ec::quantize {

struct BudgetSearch {
  const Graph& graph;
  const TargetSpec& target;
  const PlanOptions& options;
  const CalibrationRun& run;
  const LayerWeights& weights;       // of the plan without raised layers
  const std::vector<double>& noise;  // by operation id: noise that each layer makes by itself
  bool may_correct_biases = true;
  // Weights rounded for the results of their layers; empty: not to be tried.
  std::function<Result<LayerWeights>()> adapt = {};
  SampleSource* samples = nullptr;
  std::span<const size_t> held_out = {};
  // Others that --max-drop has to hold on together with them: few samples kept apart have few
  // answers to count.
  std::span<const size_t> also = {};
  int threads = 1;
  OutputMeaning meaning = {};  // of the outputs
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

// AccuracyNotMet where raising every layer that can be raised does not help enough.
Result<BudgetResult> meet_budget(const BudgetSearch& search, const AccuracyBudget& budget);

}  // namespace ec::quantize
