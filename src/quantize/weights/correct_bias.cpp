#include "quantize/weights/correct_bias.h"

#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
LayerWeights correct_biases(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                            const LayerWeights& weights) {
  LayerWeights corrected = weights;
  for (const Operation* op : graph.topological()) {
    std::optional<IntegerWeights>& layer = corrected[op->id()];
    if (!plan.of(op).integer || !layer || layer->operand != 1 || layer->bias.empty()) continue;
    const auto& channels = run.channels[op->input(0)->id()];
    const std::optional<WeightIndex> index = weight_index(*op);
    if (!channels || !index || layer->bias.size() != index->outputs) continue;
    const std::vector<float> reals = real_weights(*layer, *op->input(1));
    const auto exact = op->input(1)->values<float>();
    std::vector<double> shift(index->outputs, 0.0);
    for (size_t i = 0; i < reals.size(); ++i)
      if (index->input[i] < channels->mean.size())
        shift[index->output[i]] += (static_cast<double>(reals[i]) - static_cast<double>(exact[i])) *
                                   channels->mean[index->input[i]];
    for (size_t o = 0; o < shift.size(); ++o)
      layer->bias[o] = static_cast<float>(static_cast<double>(layer->bias[o]) - shift[o]);
    layer->adjusted = true;
  }
  return corrected;
}

}  // namespace ec::quantize
