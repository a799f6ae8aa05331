// What the steps of a strategy read and write: each step finds the results of the steps before it
// here and adds its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "quantize/ranges/calibrate.h"
#include "quantize/strategy/strategy.h"
#include "quantize/trial/trial.h"

namespace ec::quantize {

struct QuantizeContext {
  QuantizeContext(const Strategy& running, const Graph& source, const QuantizeRequest& asked,
                  DiagnosticSink& messages);

  const Strategy& strategy;
  const QuantizeRequest& request;
  DiagnosticSink& sink;

  // The float graph that is quantised: the one given, or `changed_graph` after a step changed it.
  const Graph* graph;
  std::unique_ptr<Graph> changed_graph;
  std::shared_ptr<ReferenceOutputs> reference;  // outputs of `graph` for the trials

  PlanOptions plan_options;
  Plan plan;
  FormParams params;     // scales and zero points of activations
  LayerWeights weights;  // integer weights by operation

  // --- of strategies that measure ranges on samples ---
  SampleSplit split;                       // which samples calibrate, and which judge the result
  const ObserverMethod* method = nullptr;  // how ranges are chosen
  CalibrationRun calibration;
  std::unique_ptr<Trial> trial;     // of the present graph and plan
  std::vector<OutputError> errors;  // with the present weights, by subset of the trial's samples

  // --- of strategies with recorded parameters ---
  std::vector<std::optional<PairParams>> recorded_params;  // by tensor id

  QuantizeResult result;
  QuantizeReport& report() { return result.report; }

  // `outputs`: the reference of the changed graph where there is one already.
  void use_graph(std::unique_ptr<Graph> changed, std::shared_ptr<ReferenceOutputs> outputs = {});
  // Makes the plan anew, from the present graph and options.
  void update_plan();
};

}  // namespace ec::quantize
