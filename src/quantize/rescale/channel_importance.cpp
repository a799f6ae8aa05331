#include "quantize/rescale/channel_importance.h"

#include <numeric>
#include <ranges>

#include "ops/attrs.h"
#include "quantize/rescale/channel_order.h"
#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
namespace {

// Operations that compute every channel from the same channel of their operands.
bool keeps_channels(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Relu:
    case OpKind::Clip:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::Add:
    case OpKind::Sub:
      return true;
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return op.attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
    default:
      return false;
  }
}

void add_to(std::vector<double>& sum, std::span<const double> share) {
  if (sum.empty()) sum.assign(share.size(), 0.0);
  if (sum.size() != share.size()) return;
  for (size_t c = 0; c < sum.size(); ++c) sum[c] += share[c];
}

void normalize(std::vector<double>& importance) {
  const double sum = std::accumulate(importance.begin(), importance.end(), 0.0);
  if (sum <= 0) return importance.clear();
  for (double& value : importance) value *= static_cast<double>(importance.size()) / sum;
}

}  // namespace

std::vector<double> importance_of(const ChannelImportance& importance, const Tensor& tensor,
                                  size_t channels) {
  const std::vector<double>& known = importance[tensor.id()];
  return known.size() == channels ? known : std::vector<double>(channels, 1.0);
}

ChannelImportance channel_importance(const Graph& graph) {
  ChannelImportance importance(graph.tensor_id_bound());
  for (const Tensor* output : graph.outputs())
    importance[output->id()].assign(num_channels_of(*output), 1.0);
  for (const Operation* op : graph.topological() | std::views::reverse) {
    for (const Tensor* output : op->outputs()) normalize(importance[output->id()]);
    if (op->outputs().size() != 1) continue;
    const Tensor* output = op->output();
    if (const auto index = weight_index(*op)) {
      const std::vector<double> behind = importance_of(importance, *output, index->outputs);
      std::vector<double> share(index->inputs, 0.0);
      const auto values = op->input(1)->values<float>();
      for (size_t k = 0; k < values.size(); ++k)
        share[index->input[k]] += behind[index->output[k]] * static_cast<double>(values[k]) *
                                  static_cast<double>(values[k]);
      normalize(share);
      add_to(importance[op->input(0)->id()], share);
    } else if (keeps_channels(*op)) {
      for (const Tensor* input : op->inputs())
        if (input != nullptr && !input->is_constant() &&
            num_channels_of(*input) == num_channels_of(*output))
          add_to(importance[input->id()],
                 importance_of(importance, *output, num_channels_of(*output)));
    } else {
      for (const Tensor* input : op->inputs())
        if (input != nullptr && !input->is_constant())
          add_to(importance[input->id()], std::vector<double>(num_channels_of(*input), 1.0));
    }
  }
  return importance;
}

}  // namespace ec::quantize
