#include "quantize/rescale/scalable_edges.h"

#include <cmath>
#include <optional>

#include "ops/attrs.h"
#include "ops/clamp.h"
#include "ops/op_def.h"
#include "quantize/fold_input/pixel_layers.h"
#include "quantize/rescale/channel_order.h"
#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
namespace {

bool is_relu6(const Operation& op) { return fused_clamp(op) == FusedClamp::Relu6; }

template <class A>
std::optional<FusedClamp> clamp_in(const A& attrs) {
  return fused_clamp(attrs.activation, attrs.act_alpha, attrs.act_beta);
}
// The clamp that a layer carries; empty: another activation, or no layer.
std::optional<FusedClamp> clamp_in_layer(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Conv:
      return clamp_in(op.attrs_as<ConvAttrs>());
    case OpKind::Gemm:
      return clamp_in(op.attrs_as<GemmAttrs>());
    case OpKind::MatMul:
      return clamp_in(op.attrs_as<MatMulAttrs>());
    default:
      return std::nullopt;
  }
}

// Multiplying a channel multiplies the result: f(s x) = s f(x) for s > 0, channel by channel.
bool is_homogeneous(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Relu:
      return true;
    case OpKind::MaxPool:
      return op.outputs().size() == 1 && op.attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
    case OpKind::AvgPool:
      return op.attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
    default:
      return false;
  }
}

// A constant with one value per index of the last dimension.
std::optional<ScaledConstant> vector_constant(Tensor* tensor, size_t channels) {
  if (!is_own_constant(tensor) || tensor->shape()->rank() == 0) return std::nullopt;
  const std::vector<int64_t> shape = tensor->shape()->sizes();
  if (static_cast<size_t>(shape.back()) != channels ||
      tensor->type().num_elements() != shape.back())
    return std::nullopt;
  ScaledConstant scaled{tensor, {}};
  for (uint32_t c = 0; c < channels; ++c) scaled.channel.push_back(c);
  return scaled;
}

class Finder {
 public:
  Finder(const Graph& graph, Equalization what) : graph_(graph), what_(what) {}

  // Whether all readers of the tensor are layers with weights, or it is passed on by operations
  // that keep the scale of channels.
  std::optional<ScalableEdge> edge_behind(Operation* op) {
    ScalableEdge edge;
    FusedClamp clamp = FusedClamp::None;
    if (!producers_of(op, edge, clamp)) return std::nullopt;
    if (clamp == FusedClamp::Relu6) edge.bounded = op;
    Tensor* tensor = op->output();
    while (graph_.has_single_use(tensor)) {
      Operation* next = tensor->uses().front().op;
      if (tensor->uses().front().index != 0) break;
      if (is_relu6(*next)) {
        if (edge.bounded != nullptr) return std::nullopt;
        edge.bounded = next;
      } else if (!is_homogeneous(*next)) {
        break;
      }
      tensor = next->output();
    }
    edge.tensor = tensor;
    if (!consumers_of(edge)) return std::nullopt;
    edge.factor.assign(edge.channels, 1.0);
    return edge;
  }

 private:
  bool producers_of(Operation* op, ScalableEdge& edge, FusedClamp& clamp) {
    if (op->outputs().size() != 1 || !op->output()->shape() || op->output()->shape()->rank() == 0)
      return false;
    if (what_ == Equalization::Gains) return affine(op, edge) || gate(op, edge);
    const std::optional<WeightIndex> index = weight_index(*op);
    // Factors would put pixels off their steps.
    if (!index || (op->input(0)->is_input() && picked_pixel_params(*op))) return false;
    const std::optional<FusedClamp> fused = clamp_in_layer(*op);
    // A lower bound of -1 would have to be scaled with every channel.
    if (!fused || *fused == FusedClamp::ReluN1To1 || !is_own_constant(op->input(1)) ||
        op->input(3) != nullptr)
      return false;
    clamp = *fused;
    edge.channels = index->outputs;
    edge.made_by = op;
    edge.producers.push_back({op->input(1), index->output});
    if (op->input(2) == nullptr) return true;
    const std::optional<ScaledConstant> bias = vector_constant(op->input(2), edge.channels);
    if (!bias) return false;
    edge.producers.push_back(*bias);
    return true;
  }

  // x * gain + offset with one gain and offset per channel: the end of a normalisation.
  bool affine(Operation* op, ScalableEdge& edge) {
    if (op->kind() != OpKind::Add) return false;
    const size_t constant = op->input(0)->is_constant() ? 0 : 1;
    Operation* product = op->input(1 - constant)->producer();
    if (product == nullptr || product->kind() != OpKind::Mul ||
        !graph_.has_single_use(product->output()))
      return false;
    const Dim last = (*op->output()->shape())[op->output()->shape()->rank() - 1];
    if (!last.is_static()) return false;
    edge.channels = static_cast<size_t>(last.size());
    const size_t gain = product->input(0)->is_constant() ? 0 : 1;
    const auto g = vector_constant(product->input(gain), edge.channels);
    const auto b = vector_constant(op->input(constant), edge.channels);
    if (!g || !b) return false;
    edge.producers = {*g, *b};
    return true;
  }

  // x * g with one g per channel and sample: attention over channels. Its factors cost a product of
  // the small side only.
  bool gate(Operation* op, ScalableEdge& edge) {
    if (op->kind() != OpKind::Mul || !op->input(0)->type().is_static() ||
        !op->input(1)->type().is_static())
      return false;
    const std::vector<int64_t> shapes[] = {op->input(0)->shape()->sizes(),
                                           op->input(1)->shape()->sizes()};
    const auto per_channel = [&](size_t operand) {
      const std::vector<int64_t>& shape = shapes[operand];
      return shape.size() == 4 && shape[1] == 1 && shape[2] == 1 &&
             !op->input(operand)->is_constant();
    };
    const size_t small = per_channel(0) ? 0 : 1;
    const std::vector<int64_t>& wide = shapes[1 - small];
    if (!per_channel(small) || per_channel(1 - small) || wide.size() != 4 ||
        wide.back() != shapes[small].back())
      return false;
    edge.channels = static_cast<size_t>(wide.back());
    edge.gated = op;
    edge.gate = small;
    return true;
  }

  bool consumers_of(ScalableEdge& edge) {
    if (edge.tensor->uses().empty() || graph_.is_output(edge.tensor) || edge.channels == 0)
      return false;
    for (const Use& use : edge.tensor->uses()) {
      const std::optional<WeightIndex> index = weight_index(*use.op);
      if (!index || use.index != 0 || index->inputs != edge.channels || index->outputs == 0 ||
          !is_own_constant(use.op->input(1)))
        return false;
      edge.read_by.push_back(use.op);
      edge.consumers.push_back({use.op->input(1), index->input});
    }
    return true;
  }

  const Graph& graph_;
  const Equalization what_;
};

}  // namespace

std::vector<ScalableEdge> scalable_edges(const Graph& graph, Equalization what) {
  Finder finder(graph, what);
  std::vector<ScalableEdge> edges;
  for (Operation* op : graph.topological())
    if (std::optional<ScalableEdge> edge = finder.edge_behind(op))
      edges.push_back(std::move(*edge));
  return edges;
}

}  // namespace ec::quantize
