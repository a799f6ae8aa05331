#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/channel_factors.h"
#include "quantize/channel_importance.h"
#include "quantize/clip_bounds.h"
#include "quantize/weight_index.h"

namespace ec::quantize {
namespace {

constexpr float kBound = 6.0f;  // of relu6
// Weights between two tensors are changed by both, so that they need some rounds to settle.
constexpr int kRounds = 6;
// Calibration does not see the largest value there will ever be: how far below its bound a channel
// stays.
constexpr double kHeadroom = 2;

// Constants with one value per channel, or weights with an index of their channels.
struct Scaled {
  Tensor* constant = nullptr;
  std::vector<uint32_t> channel;  // by element
};

// A tensor whose channels may be scaled.
struct Edge {
  Tensor* tensor = nullptr;       // as the layers behind read it
  std::vector<Scaled> producers;         // divided by the factor
  std::vector<Scaled> consumers;         // multiplied by it
  const Operation* made_by = nullptr;    // the layer whose weights are the first producer
  std::vector<Operation*> read_by;       // the layers whose weights are the consumers
  Operation* gated = nullptr;            // the product whose gate gets factors of its own
  Operation* bounded = nullptr;          // the relu6 on the way, or the layer it is fused into
  size_t gate = 0;                       // operand of the product
  size_t channels = 0;
  std::vector<double> factor;  // so far
};

bool is_relu6(const Operation& op) { return op.kind() == OpKind::Clip && has_relu6_bounds(op); }

enum class Fused : uint8_t { Linear, Relu, Relu6, Other };

template <class A>
Fused fused_of(const A& attrs) {
  switch (attrs.activation) {
    case Activation::None:
      return Fused::Linear;
    case Activation::Relu:
      return Fused::Relu;
    case Activation::Relu6:
      return Fused::Relu6;
    case Activation::Clip:
      if (attrs.act_alpha == 0.0f && attrs.act_beta == kBound) return Fused::Relu6;
      return attrs.act_alpha == 0.0f && std::isinf(attrs.act_beta) ? Fused::Relu : Fused::Other;
    default:
      return Fused::Other;
  }
}
Fused fused_activation(const Operation& op) {
  switch (op.kind()) {
    case OpKind::Conv:
      return fused_of(op.attrs_as<ConvAttrs>());
    case OpKind::Gemm:
      return fused_of(op.attrs_as<GemmAttrs>());
    case OpKind::MatMul:
      return fused_of(op.attrs_as<MatMulAttrs>());
    default:
      return Fused::Other;
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

bool is_own_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32 &&
         tensor->uses().size() == 1;
}

// A constant with one value per index of the last dimension.
std::optional<Scaled> vector_constant(Tensor* tensor, size_t channels) {
  if (!is_own_constant(tensor) || tensor->shape()->rank() == 0) return std::nullopt;
  const std::vector<int64_t> shape = tensor->shape()->sizes();
  if (static_cast<size_t>(shape.back()) != channels ||
      tensor->type().num_elements() != shape.back())
    return std::nullopt;
  Scaled scaled{tensor, {}};
  for (uint32_t c = 0; c < channels; ++c) scaled.channel.push_back(c);
  return scaled;
}

class Equalizer {
 public:
  Equalizer(Graph& graph, const Plan& plan, const EqualizeOptions& options)
      : graph_(graph), plan_(plan), options_(options) {
    for (Operation* op : graph_.topological())
      if (std::optional<Edge> edge = edge_behind(op)) edges_.push_back(std::move(*edge));
  }

  bool has_work() const { return !edges_.empty(); }

  Result<size_t> run(const CalibrationRun& seen) {
    std::erase_if(edges_, [&](const Edge& edge) { return !seen.channels[edge.tensor->id()]; });
    seen_ = &seen;
    for (int round = 0; round < kRounds; ++round) {
      const ChannelImportance importance = channel_importance(graph_);
      for (Edge& edge : edges_) scale(edge, best_factors(describe(edge, importance)));
    }
    size_t changed = 0;
    for (Edge& edge : edges_) {
      const bool moved = std::any_of(edge.factor.begin(), edge.factor.end(),
                                     [](double f) { return std::abs(std::log(f)) > 1e-3; });
      changed += moved;
      if (moved && edge.gated != nullptr) EC_CHECK_OK(scale_gate(edge));
      if (moved && edge.bounded != nullptr && options_.allow_bounds) EC_CHECK_OK(add_bounds(edge));
    }
    return changed;
  }

 private:
  // Whether all readers of the tensor are layers with weights, or it is passed on by operations
  // that keep the scale of channels.
  std::optional<Edge> edge_behind(Operation* op) {
    Edge edge;
    Fused fused = Fused::Linear;
    if (!producers_of(op, edge, fused)) return std::nullopt;
    if (fused == Fused::Relu6) edge.bounded = op;
    Tensor* tensor = op->output();
    while (graph_.has_single_use(tensor)) {
      Operation* next = tensor->uses()[0].op;
      if (tensor->uses()[0].index != 0) break;
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

  bool producers_of(Operation* op, Edge& edge, Fused& fused) {
    if (op->outputs().size() != 1 || !op->output()->shape() || op->output()->shape()->rank() == 0)
      return false;
    if (options_.what == Equalization::Gains) return affine(op, edge) || gate(op, edge);
    const std::optional<WeightIndex> index = weight_index(*op);
    if (!index) return false;
    fused = fused_activation(*op);
    if (fused == Fused::Other || !is_own_constant(op->input(1)) || op->input(3) != nullptr)
      return false;
    edge.channels = index->outputs;
    edge.made_by = op;
    edge.producers.push_back({op->input(1), index->output});
    if (op->input(2) == nullptr) return true;
    const std::optional<Scaled> bias = vector_constant(op->input(2), edge.channels);
    if (!bias) return false;
    edge.producers.push_back(*bias);
    return true;
  }

  // x * gain + offset with one gain and offset per channel: the end of a normalisation.
  bool affine(Operation* op, Edge& edge) {
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
  bool gate(Operation* op, Edge& edge) {
    if (op->kind() != OpKind::Mul || !op->input(0)->type().is_static() ||
        !op->input(1)->type().is_static())
      return false;
    const auto per_channel = [](const Tensor* tensor) {
      const std::vector<int64_t> shape = tensor->shape()->sizes();
      return shape.size() == 4 && shape[1] == 1 && shape[2] == 1 && !tensor->is_constant();
    };
    const size_t small = per_channel(op->input(0)) ? 0 : 1;
    if (!per_channel(op->input(small)) || per_channel(op->input(1 - small)) ||
        op->input(0)->shape()->sizes().back() != op->input(1)->shape()->sizes().back())
      return false;
    edge.channels = static_cast<size_t>(op->output()->shape()->sizes().back());
    edge.gated = op;
    edge.gate = small;
    return true;
  }

  bool consumers_of(Edge& edge) {
    if (edge.tensor->uses().empty() || graph_.is_output(edge.tensor)) return false;
    for (const Use& use : edge.tensor->uses()) {
      const std::optional<WeightIndex> index = weight_index(*use.op);
      if (!index || use.index != 0 || index->inputs != edge.channels ||
          !is_own_constant(use.op->input(1)))
        return false;
      edge.read_by.push_back(use.op);
      edge.consumers.push_back({use.op->input(1), index->input});
    }
    return true;
  }

  bool one_scale(const Operation* op) const { return plan_.of(op).rule.weights_axis < 0; }

  ReadingLayer reader(const Edge& edge, size_t i, const ChannelImportance& importance,
                      std::vector<double>& gain) const {
    const Operation* op = edge.read_by[i];
    const WeightIndex index = *weight_index(*op);
    const auto values = op->input(1)->values<float>();
    ReadingLayer layer;
    layer.per_tensor = one_scale(op);
    layer.depthwise = index.depthwise;
    layer.importance = importance_of(importance, *op->output(), index.outputs);
    for (size_t k = 0; k < values.size(); ++k)
      gain[index.input[k]] += layer.importance[index.output[k]] *
                              static_cast<double>(values[k]) * static_cast<double>(values[k]);
    layer.rows = index.outputs;
    // As one row: only the largest weight of all counts.
    const bool merged = layer.per_tensor && !layer.depthwise;
    if (merged) {
      layer.importance = {
          std::accumulate(layer.importance.begin(), layer.importance.end(), 0.0)};
      layer.rows = 1;
    }
    layer.largest.assign(layer.depthwise ? layer.rows : layer.rows * edge.channels, 0.0f);
    for (size_t k = 0; k < values.size(); ++k) {
      const size_t row = merged ? 0 : index.output[k];
      float& largest =
          layer.largest[layer.depthwise ? row : row * edge.channels + index.input[k]];
      largest = std::max(largest, std::abs(values[k]));
    }
    // A grouped layer reads a channel with some rows only; it counts as if all did.
    layer.taps = std::max<size_t>(
        1, values.size() / (index.outputs * (index.depthwise ? 1 : index.inputs)));
    return layer;
  }

  ScalableChannels describe(const Edge& edge, const ChannelImportance& importance) const {
    ScalableChannels channels;
    const ChannelStatistics& seen = *seen_->channels[edge.tensor->id()];
    channels.gain.assign(edge.channels, 0.0);
    for (size_t i = 0; i < edge.read_by.size(); ++i)
      channels.readers.push_back(reader(edge, i, importance, channels.gain));
    for (size_t c = 0; c < edge.channels; ++c) {
      const double so_far = edge.factor[c];
      channels.low.push_back(static_cast<double>(seen.min[c]) / so_far);
      channels.high.push_back(static_cast<double>(seen.max[c]) / so_far);
      channels.square.push_back(seen.mean_square[c] / (so_far * so_far));
    }
    limit(edge, seen, channels);
    if (edge.made_by != nullptr && one_scale(edge.made_by)) describe_producer(edge, channels);
    return channels;
  }

  void describe_producer(const Edge& edge, ScalableChannels& channels) const {
    const auto& inputs = seen_->channels[edge.made_by->input(0)->id()];
    const WeightIndex index = *weight_index(*edge.made_by);
    if (!inputs || inputs->mean_square.size() != index.inputs) return;
    const auto values = edge.producers[0].constant->values<float>();
    channels.made.assign(edge.channels, 0.0);
    channels.made_gain.assign(edge.channels, 0.0);
    // Inputs of the layer in front have been scaled too.
    const std::vector<double>* scaled = nullptr;
    for (const Edge& other : edges_)
      if (other.tensor == edge.made_by->input(0)) scaled = &other.factor;
    for (size_t k = 0; k < values.size(); ++k) {
      double& largest = channels.made[index.output[k]];
      largest = std::max(largest, std::abs(static_cast<double>(values[k])));
      const double factor = scaled != nullptr ? (*scaled)[index.input[k]] : 1;
      channels.made_gain[index.output[k]] +=
          inputs->mean_square[index.input[k]] / (factor * factor);
    }
  }

  // What a relu6 lets a channel do: where its bound was never reached, the channel may grow up to
  // it; where it was, the channel stays, or gets a bound of its own.
  void limit(const Edge& edge, const ChannelStatistics& seen, ScalableChannels& channels) const {
    channels.least.assign(edge.channels, 0.0);
    channels.fixed.assign(edge.channels, false);
    if (edge.bounded == nullptr || options_.allow_bounds) return;
    for (size_t c = 0; c < edge.channels; ++c) {
      const double largest = std::max(std::abs(static_cast<double>(seen.min[c])),
                                      std::abs(static_cast<double>(seen.max[c])));
      channels.fixed[c] = largest >= 0.999 * static_cast<double>(kBound);
      channels.least[c] = std::min(1.0, kHeadroom * largest / static_cast<double>(kBound)) /
                          edge.factor[c];
    }
  }

  void scale(Edge& edge, const std::vector<double>& factor) {
    const auto apply = [&](const Scaled& side, bool divide) {
      const auto values = side.constant->values<float>();
      std::vector<float> scaled(values.begin(), values.end());
      for (size_t k = 0; k < scaled.size(); ++k) {
        const double f = factor[side.channel[k]];
        scaled[k] = static_cast<float>(divide ? static_cast<double>(scaled[k]) / f
                                              : static_cast<double>(scaled[k]) * f);
      }
      graph_.set_constant_data(side.constant, side.constant->type(),
                               Blob::copy_of(std::span<const float>(scaled)));
    };
    for (const Scaled& side : edge.producers) apply(side, true);
    for (const Scaled& side : edge.consumers) apply(side, false);
    for (size_t c = 0; c < edge.channels; ++c) edge.factor[c] *= factor[c];
  }

  // The gate divided by the factors.
  Status scale_gate(const Edge& edge) {
    Tensor* gate = edge.gated->input(edge.gate);
    std::vector<float> inverse;
    for (const double f : edge.factor) inverse.push_back(static_cast<float>(1 / f));
    Tensor* constant = graph_.add_constant<float>(gate->name() + "_factors",
                                                  Shape{static_cast<int64_t>(inverse.size())},
                                                  std::span<const float>(inverse));
    EC_TRY(Tensor * scaled, graph_.add_single(OpKind::Mul, {gate, constant}, {},
                                              gate->producer() != nullptr
                                                  ? gate->producer()->location()
                                                  : edge.gated->location()));
    graph_.set_operand(edge.gated, edge.gate, scaled);
    return {};
  }

  // relu6 -> relu, and a minimum with 6 / s for each channel.
  Status add_bounds(Edge& edge) {
    Operation* op = edge.bounded;
    Tensor* result = op->output();
    std::vector<float> bounds;
    for (const double f : edge.factor) bounds.push_back(static_cast<float>(kBound / f));
    Tensor* constant = graph_.add_constant<float>(result->name() + "_bounds",
                                                  Shape{static_cast<int64_t>(bounds.size())},
                                                  std::span<const float>(bounds));
    if (op->kind() == OpKind::Clip) {
      Tensor* x = op->input(0);
      graph_.set_kind(op, OpKind::Relu, Attrs());
      graph_.set_operands(op, {x});
    } else {
      relax(op);
    }
    const std::vector<Use> readers = result->uses();
    EC_TRY(Tensor * bounded,
           graph_.add_single(OpKind::Min, {result, constant}, {}, op->location()));
    for (const Use& use : readers) graph_.set_operand(use.op, use.index, bounded);
    return {};
  }
  template <class A>
  void relax_as(Operation* op) {
    A attrs = op->attrs_as<A>();
    attrs.activation = Activation::Relu;
    attrs.act_alpha = attrs.act_beta = 0.0f;
    graph_.set_attrs(op, Attrs(attrs));
  }
  void relax(Operation* op) {
    if (op->kind() == OpKind::Conv) relax_as<ConvAttrs>(op);
    if (op->kind() == OpKind::Gemm) relax_as<GemmAttrs>(op);
    if (op->kind() == OpKind::MatMul) relax_as<MatMulAttrs>(op);
  }

  Graph& graph_;
  const Plan& plan_;
  const EqualizeOptions options_;
  const CalibrationRun* seen_ = nullptr;
  std::vector<Edge> edges_;
};

}  // namespace

Result<size_t> equalize(Graph& graph, const Plan& plan, const CalibrationRun& run,
                        const EqualizeOptions& options) {
  return Equalizer(graph, plan, options).run(run);
}

bool can_equalize(Graph& graph, const Plan& plan, Equalization what) {
  return Equalizer(graph, plan, {what, false}).has_work();
}

}  // namespace ec::quantize
