#include "quantize/measure/layer_noise.h"

#include "support/progress.h"

namespace ec::quantize {

bool makes_noise(const Operation& op, const Plan& plan) {
  const OpPlan& entry = plan.of(&op);
  return entry.integer && !entry.rule.moves_data;
}

Result<std::vector<double>> layer_noise(const Graph& graph, const Plan& plan,
                                        const FormParams& params, const LayerWeights& weights,
                                        Trial& trial) {
  std::vector<double> noise(graph.operation_id_bound(), 0.0);
  const Rounding all = round_all(graph, plan, params, weights);
  Rounding one;
  one.forms.resize(all.forms.size());
  one.weights.resize(all.weights.size(), nullptr);
  const auto operations = graph.topological();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation* op = operations[i];
    report_progress("judging layers", static_cast<int64_t>(i + 1),
                    static_cast<int64_t>(operations.size()));
    if (!makes_noise(*op, plan)) continue;
    std::vector<FormId> forms;
    for (const Tensor* output : op->outputs()) {
      const FormId form = plan.stored_form(output);
      if (all.forms[form]) forms.push_back(form);
    }
    if (forms.empty() && all.weights[op->id()] == nullptr) continue;
    for (const FormId form : forms) one.forms[form] = all.forms[form];
    one.weights[op->id()] = all.weights[op->id()];
    EC_TRY(const OutputError error, trial.measure(one));
    noise[op->id()] = error.cost();
    for (const FormId form : forms) one.forms[form].reset();
    one.weights[op->id()] = nullptr;
  }
  return noise;
}

void fill_shares(AccuracyReport& report, const std::vector<double>& noise) {
  double total = 0;
  for (const double n : noise) total += n;
  if (total <= 0) return;
  for (LayerAccuracy& layer : report.layers) layer.own_share = noise[layer.operation] / total;
}

}  // namespace ec::quantize
