#include "quantize/rescale/equalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/attrs.h"
#include "ops/clamp.h"
#include "ops/op_def.h"
#include "quantize/rescale/channel_factors.h"
#include "quantize/rescale/channel_importance.h"
#include "quantize/rescale/weight_index.h"
#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

class Equalizer {
 public:
  Equalizer(Graph& graph, const Plan& plan, const EqualizeOptions& options)
      : graph_(graph),
        plan_(plan),
        options_(options),
        edges_(scalable_edges(graph, options.what)) {}

  Result<size_t> run(const CalibrationRun& seen) {
    std::erase_if(edges_,
                  [&](const ScalableEdge& edge) { return !seen.channels[edge.tensor->id()]; });
    seen_ = &seen;
    for (int round = 0; round < tuning::kEqualizeRounds; ++round) {
      const ChannelImportance importance = channel_importance(graph_);
      for (ScalableEdge& edge : edges_) scale(edge, best_factors(describe(edge, importance)));
    }
    size_t changed = 0;
    for (ScalableEdge& edge : edges_) {
      const bool moved = std::any_of(edge.factor.begin(), edge.factor.end(), [](double f) {
        return std::abs(std::log(f)) > tuning::kRescaledFactor;
      });
      changed += moved;
      if (moved && edge.gated != nullptr) EC_CHECK_OK(scale_gate(edge));
      if (moved && edge.bounded != nullptr && options_.allow_bounds) EC_CHECK_OK(add_bounds(edge));
    }
    return changed;
  }

 private:
  bool one_scale(const Operation* op) const { return plan_.of(op).rule.weights_axis < 0; }

  ReadingLayer reader(const ScalableEdge& edge, size_t i, const ChannelImportance& importance,
                      std::vector<double>& gain) const {
    const Operation* op = edge.read_by[i];
    const WeightIndex index = *weight_index(*op);
    const auto values = op->input(1)->values<float>();
    ReadingLayer layer;
    layer.per_tensor = one_scale(op);
    layer.depthwise = index.depthwise;
    layer.importance = importance_of(importance, *op->output(), index.outputs);
    for (size_t k = 0; k < values.size(); ++k)
      gain[index.input[k]] += layer.importance[index.output[k]] * static_cast<double>(values[k]) *
                              static_cast<double>(values[k]);
    layer.rows = index.outputs;
    // With one scale, all weights form one row: only the largest counts.
    const bool merged = layer.per_tensor && !layer.depthwise;
    if (merged) {
      layer.importance = {std::accumulate(layer.importance.begin(), layer.importance.end(), 0.0)};
      layer.rows = 1;
    }
    layer.largest.assign(layer.depthwise ? layer.rows : layer.rows * edge.channels, 0.0f);
    for (size_t k = 0; k < values.size(); ++k) {
      const size_t row = merged ? 0 : index.output[k];
      float& largest = layer.largest[layer.depthwise ? row : row * edge.channels + index.input[k]];
      largest = std::max(largest, std::abs(values[k]));
    }
    // A grouped layer reads a channel with some rows only; it counts as if all did.
    layer.taps =
        std::max<size_t>(1, values.size() / (index.outputs * (index.depthwise ? 1 : index.inputs)));
    return layer;
  }

  ScalableChannels describe(const ScalableEdge& edge, const ChannelImportance& importance) const {
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

  void describe_producer(const ScalableEdge& edge, ScalableChannels& channels) const {
    const auto& inputs = seen_->channels[edge.made_by->input(0)->id()];
    const WeightIndex index = *weight_index(*edge.made_by);
    if (!inputs || inputs->mean_square.size() != index.inputs) return;
    const auto values = edge.producers[0].constant->values<float>();
    channels.made.assign(edge.channels, 0.0);
    channels.made_gain.assign(edge.channels, 0.0);
    // Inputs of the layer in front have been scaled too.
    const std::vector<double>* scaled = nullptr;
    for (const ScalableEdge& other : edges_)
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
  void limit(const ScalableEdge& edge, const ChannelStatistics& seen,
             ScalableChannels& channels) const {
    channels.least.assign(edge.channels, 0.0);
    channels.fixed.assign(edge.channels, false);
    if (edge.bounded == nullptr || options_.allow_bounds) return;
    for (size_t c = 0; c < edge.channels; ++c) {
      const double largest = std::max(std::abs(static_cast<double>(seen.min[c])),
                                      std::abs(static_cast<double>(seen.max[c])));
      channels.fixed[c] = largest >= tuning::kRelu6Reached * static_cast<double>(kRelu6Bound);
      channels.least[c] =
          std::min(1.0, tuning::kRelu6Headroom * largest / static_cast<double>(kRelu6Bound)) /
          edge.factor[c];
    }
  }

  void scale(ScalableEdge& edge, const std::vector<double>& factor) {
    const auto apply = [&](const ScaledConstant& side, bool divide) {
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
    for (const ScaledConstant& side : edge.producers) apply(side, true);
    for (const ScaledConstant& side : edge.consumers) apply(side, false);
    for (size_t c = 0; c < edge.channels; ++c) edge.factor[c] *= factor[c];
  }

  // The gate divided by the factors: as a convolution of one tap, whose weights have a scale for
  // each factor.
  Status scale_gate(const ScalableEdge& edge) {
    Tensor* gate = edge.gated->input(edge.gate);
    std::vector<float> inverse;
    for (const double f : edge.factor) inverse.push_back(static_cast<float>(1 / f));
    const auto channels = static_cast<int64_t>(inverse.size());
    Tensor* constant = graph_.add_constant<float>(
        gate->name() + "_factors", Shape{channels, 1, 1, 1}, std::span<const float>(inverse));
    ConvAttrs attrs;
    attrs.layout = Layout::ChannelsLast;
    attrs.groups = channels;
    EC_TRY(Tensor * scaled,
           graph_.add_single(OpKind::Conv, {gate, constant}, attrs,
                             gate->producer() != nullptr ? gate->producer()->location()
                                                         : edge.gated->location()));
    graph_.set_operand(edge.gated, edge.gate, scaled);
    return {};
  }

  // relu6 -> relu, and a minimum with 6 / s for each channel.
  Status add_bounds(ScalableEdge& edge) {
    Operation* op = edge.bounded;
    Tensor* result = op->output();
    std::vector<float> bounds;
    for (const double f : edge.factor) bounds.push_back(static_cast<float>(kRelu6Bound / f));
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
    const std::vector<Use> readers = result->uses().copy();
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
  std::vector<ScalableEdge> edges_;
};

}  // namespace

Result<size_t> equalize(Graph& graph, const Plan& plan, const CalibrationRun& run,
                        const EqualizeOptions& options) {
  return Equalizer(graph, plan, options).run(run);
}

}  // namespace ec::quantize
