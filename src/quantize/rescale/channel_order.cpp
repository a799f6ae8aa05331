#include "quantize/rescale/channel_order.h"

#include <algorithm>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
namespace {

// More tensors than a block of a network has: the walk has left it.
constexpr size_t kMostTensors = 64;

// A mean over other dimensions than the last one, which keeps them.
bool averages_positions(const Operation& op) {
  if (op.kind() != OpKind::ReduceMean || !op.attrs_as<ReduceAttrs>().keep_dims) return false;
  const Tensor* axes = op.input(1);
  if (axes == nullptr || !axes->is_constant() || axes->dtype() != DType::I64) return false;
  const auto rank = static_cast<int64_t>(op.input(0)->shape()->rank());
  const auto values = axes->values<int64_t>();
  return !values.empty() &&
         std::ranges::none_of(values, [&](int64_t axis) { return axis == rank - 1 || axis == -1; });
}

// Computes each channel from the same channel of its first operand; the others say how.
bool keeps_channels(const Operation& op) {
  switch (op.kind()) {
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return op.outputs().size() == 1 && op.attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
    case OpKind::Pad:
      return pads_no_channels(op);
    case OpKind::ReduceMean:
      return averages_positions(op);
    default:
      return false;
  }
}

class Walk {
 public:
  explicit Walk(const Graph& graph, size_t channels) : graph_(graph), channels_(channels) {}

  std::optional<ChannelOrder> from(Tensor* start) {
    if (channels_ == 0 || !join(start)) return std::nullopt;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      Tensor* tensor = tensors_[i];
      if (tensors_.size() > kMostTensors || graph_.is_output(tensor)) return std::nullopt;
      if (i > 0 && !follow_producer(tensor)) return std::nullopt;
      for (const Use& use : tensor->uses())
        if (!follow_reader(use)) return std::nullopt;
    }
    order_.reordered.assign(tensors_.begin(), tensors_.end());
    return std::move(order_);
  }

 private:
  bool join(Tensor* tensor) {
    if (num_channels_of(*tensor) != channels_) return false;
    if (std::ranges::find(tensors_, tensor) == tensors_.end()) tensors_.push_back(tensor);
    return true;
  }

  bool follow(Tensor* constant, size_t axis) {
    if (!is_own_constant(constant)) return false;
    order_.constants.push_back({constant, axis});
    return true;
  }
  bool follow_bias(Tensor* bias) {
    return bias == nullptr || (num_channels_of(*bias) == channels_ &&
                               bias->type().num_elements() == static_cast<int64_t>(channels_) &&
                               follow(bias, bias->shape()->rank() - 1));
  }

  bool follow_producer(Tensor* tensor) {
    Operation* op = tensor->producer();
    if (op == nullptr) return false;
    if (op->kind() != OpKind::Conv) return pass_on(op);
    const std::optional<WeightIndex> index = weight_index(*op);
    if (!index || op->input(3) != nullptr) return false;
    if (index->depthwise) return pass_depthwise(op);
    return op->attrs_as<ConvAttrs>().groups == 1 && follow(op->input(1), 0) &&
           follow_bias(op->input(2));
  }

  bool follow_reader(const Use& use) {
    Operation* op = use.op;
    if (op->kind() != OpKind::Conv) return pass_on(op);
    const std::optional<WeightIndex> index = weight_index(*op);
    if (!index || use.index != 0 || op->input(3) != nullptr) return false;
    // One channel in, one out: nothing to tell apart.
    if (op->attrs_as<ConvAttrs>().groups != 1)
      return index->depthwise && index->inputs == channels_ && pass_depthwise(op);
    if (std::ranges::find(order_.read_by, op) != order_.read_by.end()) return true;
    order_.read_by.push_back(op);
    return follow(op->input(1), 3);
  }

  bool pass_depthwise(Operation* op) {
    if (!first_time(op)) return true;
    return follow(op->input(1), 0) && follow_bias(op->input(2)) && join(op->input(0)) &&
           join(op->output());
  }

  // An operation that keeps channels apart: all of its operands and results change together.
  bool pass_on(Operation* op) {
    if (!first_time(op)) return true;
    if (op->outputs().size() != 1 || !join(op->output())) return false;
    if (keeps_channels(*op)) return join(op->input(0));
    if (!op->def().traits.elementwise) return false;
    return std::ranges::all_of(op->inputs(), [&](Tensor* operand) {
      if (operand == nullptr || operand->type().num_elements() == 1) return true;
      return operand->is_constant() ? follow_bias(operand) : join(operand);
    });
  }

  bool first_time(const Operation* op) {
    if (std::ranges::find(passed_, op) != passed_.end()) return false;
    passed_.push_back(op);
    return true;
  }

  const Graph& graph_;
  const size_t channels_;
  std::vector<Tensor*> tensors_;
  std::vector<const Operation*> passed_;
  ChannelOrder order_;
};

}  // namespace

bool is_own_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32 &&
         tensor->uses().size() == 1;
}

size_t num_channels_of(const Tensor& tensor) {
  if (!tensor.shape() || tensor.shape()->rank() == 0) return 0;
  const Dim last = (*tensor.shape())[tensor.shape()->rank() - 1];
  return last.is_static() ? static_cast<size_t>(last.size()) : 0;
}

bool pads_no_channels(const Operation& op) {
  const Tensor* pads = op.input(1);
  if (op.kind() != OpKind::Pad || pads == nullptr || !pads->is_constant() ||
      pads->dtype() != DType::I64 || op.input(3) != nullptr)
    return false;
  const auto values = pads->values<int64_t>();
  const size_t rank = values.size() / 2;
  return rank > 0 && values[rank - 1] == 0 && values[2 * rank - 1] == 0;
}

std::optional<ChannelOrder> channel_order(const Graph& graph, Tensor* tensor) {
  return Walk(graph, num_channels_of(*tensor)).from(tensor);
}

void reorder(Graph& graph, const ChannelOrder::Constant& constant,
             const std::vector<uint32_t>& order) {
  const auto values = constant.tensor->values<float>();
  const std::vector<int64_t> shape = constant.tensor->shape()->sizes();
  size_t inner = 1;
  for (size_t i = constant.axis + 1; i < shape.size(); ++i) inner *= static_cast<size_t>(shape[i]);
  std::vector<float> moved(values.size());
  const size_t row = order.size() * inner;
  for (size_t begin = 0; begin < values.size(); begin += row)
    for (size_t i = 0; i < order.size(); ++i)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin + order[i] * inner), inner,
                  moved.begin() + static_cast<std::ptrdiff_t>(begin + i * inner));
  graph.set_constant_data(constant.tensor, constant.tensor->type(),
                          Blob::copy_of(std::span<const float>(moved)));
}

}  // namespace ec::quantize
