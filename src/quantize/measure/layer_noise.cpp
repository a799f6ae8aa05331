#include "quantize/measure/layer_noise.h"

namespace ec::quantize {

Result<std::vector<double>> layer_noise(const Graph& graph, const Plan& plan,
                                        const FormParams& params, const LayerWeights& weights,
                                        Trial& trial) {
  std::vector<double> noise(graph.operation_id_bound(), 0.0);
  const Rounding all = round_all(graph, plan, params, weights);
  Rounding one;
  one.forms.resize(all.forms.size());
  one.weights.resize(all.weights.size(), nullptr);
  for (const Operation* op : graph.topological()) {
    const OpPlan& entry = plan.of(op);
    // What only moves numbers adds no error of its own.
    if (!entry.integer || entry.rule.moves_data) continue;
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
