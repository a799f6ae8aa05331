#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/clip_bounds.h"
#include "quantize/weight_index.h"

namespace ec::quantize {
namespace {

constexpr float kBound = 6.0f;  // of relu6
// Factors beyond these come from channels that do next to nothing.
constexpr double kLargestFactor = 1e3;
// Calibration does not see the largest value there will ever be: how far below its bound a channel
// stays.
constexpr double kHeadroom = 2;

struct Channels {
  std::vector<double> made, read;  // largest weight on either side
  std::vector<double> seen;        // largest activation
};

// Constants with one value per channel, or weights with an index of their channels.
struct Scaled {
  Tensor* constant = nullptr;
  std::vector<uint32_t> channel;  // by element
};

// A tensor whose channels may be scaled.
struct Edge {
  Tensor* tensor = nullptr;       // as the layers behind read it
  std::vector<Scaled> producers;  // divided by the factor
  std::vector<Scaled> consumers;  // multiplied by it
  Operation* bounded = nullptr;   // the relu6 on the way, or the layer it is fused into
  bool made_by_weights = false;
  bool all_depthwise = true;
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
  Equalizer(Graph& graph, const CalibrationRun& run, const EqualizeOptions& options)
      : graph_(graph), run_(run), options_(options) {}

  Result<size_t> run() {
    for (Operation* op : graph_.topological()) {
      if (std::optional<Edge> edge = edge_behind(op)) edges_.push_back(std::move(*edge));
    }
    // Weights between two edges are changed by both, so that they need some rounds to settle.
    const int rounds = options_.what == Equalization::Weights ? 16 : 1;
    for (int round = 0; round < rounds; ++round)
      for (Edge& edge : edges_) scale(edge, choose(edge));
    size_t changed = 0;
    for (Edge& edge : edges_) {
      const bool moved = std::any_of(edge.factor.begin(), edge.factor.end(),
                                     [](double f) { return std::abs(std::log(f)) > 1e-3; });
      changed += moved;
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
    if (!consumers_of(edge) || !run_.channels[tensor->id()]) return std::nullopt;
    edge.factor.assign(edge.channels, 1.0);
    return edge;
  }

  bool producers_of(Operation* op, Edge& edge, Fused& fused) {
    if (op->outputs().size() != 1 || !op->output()->shape() || op->output()->shape()->rank() == 0)
      return false;
    if (const std::optional<WeightIndex> index = weight_index(*op)) {
      fused = fused_activation(*op);
      if (fused == Fused::Other || !is_own_constant(op->input(1)) || op->input(3) != nullptr)
        return false;
      edge.channels = index->outputs;
      edge.made_by_weights = true;
      edge.producers.push_back({op->input(1), index->output});
      if (op->input(2) == nullptr) return true;
      const std::optional<Scaled> bias = vector_constant(op->input(2), edge.channels);
      if (!bias) return false;
      edge.producers.push_back(*bias);
      return true;
    }
    return options_.what == Equalization::Activations && affine(op, edge);
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

  bool consumers_of(Edge& edge) {
    if (edge.tensor->uses().empty() || graph_.is_output(edge.tensor)) return false;
    for (const Use& use : edge.tensor->uses()) {
      const std::optional<WeightIndex> index = weight_index(*use.op);
      if (!index || use.index != 0 || index->inputs != edge.channels ||
          !is_own_constant(use.op->input(1)))
        return false;
      edge.all_depthwise &= index->depthwise;
      edge.consumers.push_back({use.op->input(1), index->input});
    }
    return true;
  }

  static std::vector<double> largest(const std::vector<Scaled>& sides, size_t channels,
                                     size_t only_first) {
    std::vector<double> result(channels, 0.0);
    for (size_t i = 0; i < std::min(only_first, sides.size()); ++i) {
      const auto values = sides[i].constant->values<float>();
      for (size_t k = 0; k < values.size(); ++k)
        result[sides[i].channel[k]] =
            std::max(result[sides[i].channel[k]], std::abs(static_cast<double>(values[k])));
    }
    return result;
  }

  Channels measure(const Edge& edge) const {
    Channels channels;
    // Of a producer only the weights count, not the bias.
    channels.made = largest(edge.producers, edge.channels, 1);
    channels.read = largest(edge.consumers, edge.channels, edge.consumers.size());
    const ChannelStatistics& seen = *run_.channels[edge.tensor->id()];
    for (size_t c = 0; c < edge.channels; ++c)
      channels.seen.push_back(std::max(std::abs(static_cast<double>(seen.min[c])),
                                       std::abs(static_cast<double>(seen.max[c]))) /
                              edge.factor[c]);
    return channels;
  }

  std::vector<double> choose(const Edge& edge) const {
    const Channels channels = measure(edge);
    std::vector<double> factor(edge.channels, 1.0);
    if (options_.what == Equalization::Weights && !edge.made_by_weights) return factor;
    const double widest = *std::max_element(channels.seen.begin(), channels.seen.end());
    double top = 0;
    for (size_t c = 0; c < edge.channels; ++c) {
      const double made = channels.made[c], read = channels.read[c], seen = channels.seen[c];
      if (made <= 0 || read <= 0) continue;
      // A channel that is never used still takes part in the scale of its weights.
      if (seen <= 0 && options_.what == Equalization::Activations) continue;
      if (options_.what == Equalization::Weights)
        factor[c] = std::sqrt(made / read);
      else if (edge.all_depthwise)
        // Half way: a channel that is scaled up to the widest has no room for values not seen yet.
        factor[c] = std::sqrt(seen / widest);
      else
        factor[c] = std::sqrt(seen / read);
      factor[c] = std::clamp(factor[c], 1 / kLargestFactor, kLargestFactor);
      top = std::max(top, seen / factor[c]);
    }
    // The widest channel stays where it is.
    if (options_.what == Equalization::Activations && top > 0)
      for (double& f : factor) f *= top / widest;
    for (size_t c = 0; c < edge.channels; ++c)
      factor[c] = within_bound(edge, channels.seen[c], edge.factor[c], factor[c]);
    return factor;
  }

  // What a relu6 lets a channel do: where its bound was never reached, the channel may grow up to
  // it; where it was, the channel stays, or gets a bound of its own.
  double within_bound(const Edge& edge, double seen, double so_far, double factor) const {
    if (edge.bounded == nullptr || options_.allow_bounds) return factor;
    const double original = seen * so_far;
    if (original >= 0.999 * static_cast<double>(kBound)) return 1.0;
    return std::max(factor, std::min(1.0, kHeadroom * seen / static_cast<double>(kBound)));
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
  const CalibrationRun& run_;
  const EqualizeOptions options_;
  std::vector<Edge> edges_;
};

}  // namespace

Result<size_t> equalize(Graph& graph, const CalibrationRun& run, const EqualizeOptions& options) {
  return Equalizer(graph, run, options).run();
}

}  // namespace ec::quantize
