#include "quantize/rescale/uneven_channels.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/attrs.h"
#include "ops/clamp.h"
#include "ops/op_def.h"
#include "quantize/rescale/uneven_tuning.h"
#include "quantize/rescale/weight_index.h"

namespace ec::quantize {
namespace {

// Operations between the two convolutions: an activation that is written as several is the most.
constexpr size_t kMostBetween = 8;

bool has_own_weights(const Operation& op, const WeightIndex& index) {
  return op.kind() == OpKind::Conv && op.input(3) == nullptr && is_own_constant(op.input(1)) &&
         (op.input(2) == nullptr ||
          (is_own_constant(op.input(2)) &&
           op.input(2)->type().num_elements() == static_cast<int64_t>(index.outputs)));
}

// The sum of squared weights that multiply each input channel.
std::vector<double> gains_of(const Operation& op, const WeightIndex& index) {
  std::vector<double> gains(index.inputs, 0.0);
  const auto values = op.input(1)->values<float>();
  for (size_t k = 0; k < values.size(); ++k)
    gains[index.input[k]] += static_cast<double>(values[k]) * static_cast<double>(values[k]);
  return gains;
}

// Channels sorted by the width of their ranges fall into parts of neighbours. Rounding a channel
// costs the squared width of its part's widest, times what its error is multiplied with.
class Parts {
 public:
  Parts(std::vector<double> widths, const std::vector<double>& gains) : order_(widths.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return widths[a] < widths[b]; });
    sums_.push_back(0);
    for (const uint32_t channel : order_) {
      squares_.push_back(widths[channel] * widths[channel]);
      sums_.push_back(sums_.back() + gains[channel]);
    }
    best_.push_back(one_part());
  }

  double noise(size_t parts) {
    while (best_.size() < parts) add_part();
    return best_[parts - 1].noise.back();
  }

  std::vector<std::vector<uint32_t>> get(size_t parts) {
    noise(parts);
    std::vector<std::vector<uint32_t>> result(parts);
    size_t end = order_.size();
    for (size_t p = parts; p-- > 0;) {
      const size_t begin = best_[p].begin[end];
      result[p].assign(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                       order_.begin() + static_cast<std::ptrdiff_t>(end));
      std::ranges::sort(result[p]);
      end = begin;
    }
    return result;
  }

 private:
  // For the first so many channels: the least noise, and where the last part begins.
  struct Best {
    std::vector<double> noise;
    std::vector<size_t> begin;
  };
  double cost(size_t begin, size_t end) const {
    return squares_[end - 1] * (sums_[end] - sums_[begin]);
  }
  Best one_part() const {
    Best best{{0}, {0}};
    for (size_t end = 1; end <= order_.size(); ++end) {
      best.noise.push_back(cost(0, end));
      best.begin.push_back(0);
    }
    return best;
  }
  void add_part() {
    const Best& fewer = best_.back();
    const size_t fewest = best_.size();
    Best best{std::vector<double>(order_.size() + 1, std::numeric_limits<double>::infinity()),
              std::vector<size_t>(order_.size() + 1, 0)};
    for (size_t end = fewest + 1; end <= order_.size(); ++end)
      for (size_t begin = fewest; begin < end; ++begin)
        if (const double all = fewer.noise[begin] + cost(begin, end); all < best.noise[end]) {
          best.noise[end] = all;
          best.begin[end] = begin;
        }
    best_.push_back(std::move(best));
  }

  std::vector<uint32_t> order_;
  std::vector<double> squares_, sums_;  // by place in the order
  std::vector<Best> best_;              // by number of parts, less one
};

class Finder {
 public:
  Finder(const Graph& graph, const Plan& plan, const CalibrationRun& run)
      : graph_(graph), plan_(plan), run_(run), place_(graph.operation_id_bound(), 0) {
    size_t place = 0;
    for (const Operation* op : graph.topological()) place_[op->id()] = place++;
  }

  std::optional<UnevenChannels> behind(Operation* op) {
    const std::optional<WeightIndex> index = weight_index(*op);
    if (!index || !plan_.of(op).integer || !has_own_weights(*op, *index) ||
        op->attrs_as<ConvAttrs>().groups != 1)
      return std::nullopt;
    UnevenChannels found;
    found.made_by = op;
    if (!walk_to_reader(found)) return std::nullopt;
    find_clamp(found);
    std::optional<ChannelOrder> order = channel_order(graph_, found.result());
    if (!order || order->read_by.empty()) return std::nullopt;
    found.behind = std::move(*order);
    // What the order behind reaches may not be what is taken apart.
    for (const ChannelOrder::Constant& constant : found.behind.constants)
      for (const Use& use : constant.tensor->uses())
        if (use.op == found.made_by || use.op == found.read_by) return std::nullopt;
    if (!choose_parts(found)) return std::nullopt;
    return found;
  }

 private:
  bool walk_to_reader(UnevenChannels& found) {
    std::vector<Tensor*> tensors = {found.made_by->output()};
    const auto known = [](const auto& list, const auto* item) {
      return std::ranges::find(list, item) != list.end();
    };
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (graph_.is_output(tensors[i]) || found.between.size() > kMostBetween) return false;
      for (const Use& use : tensors[i]->uses()) {
        if (use.op == found.read_by || known(found.between, use.op)) continue;
        if (use.op->kind() == OpKind::Conv) {
          if (found.read_by != nullptr || use.index != 0) return false;
          found.read_by = use.op;
        } else if (use.op->outputs().size() == 1 &&
                   (use.op->def().traits.elementwise || pads_no_channels(*use.op))) {
          found.between.push_back(use.op);
          tensors.push_back(use.op->output());
        } else {
          return false;
        }
      }
    }
    if (found.read_by == nullptr) return false;
    const std::optional<WeightIndex> index = weight_index(*found.read_by);
    if (!index || !index->depthwise || !plan_.of(found.read_by).integer ||
        !has_own_weights(*found.read_by, *index) ||
        index->inputs != num_channels_of(*found.made_by->output()))
      return false;
    for (const Operation* op : found.between) {
      if (op->kind() == OpKind::Pad) continue;
      for (const Tensor* operand : op->inputs())
        if (operand != nullptr && !known(tensors, operand) &&
            (!operand->is_constant() || operand->type().num_elements() != 1))
          return false;
    }
    std::ranges::sort(found.between, {}, [&](const Operation* op) { return place_[op->id()]; });
    return true;
  }

  void find_clamp(UnevenChannels& found) const {
    const Tensor* result = found.read_by->output();
    if (!graph_.has_single_use(result)) return;
    Operation* next = result->uses().front().op;
    if (fused_clamp(*next).has_value()) found.clamp = next;
  }

  // How far the error of rounding each channel reaches the layers behind, and their signal.
  struct Reached {
    std::vector<double> gains;
    double signal = 0;
  };
  std::optional<Reached> reached(const UnevenChannels& found) const {
    Reached all;
    all.gains = gains_of(*found.read_by, *weight_index(*found.read_by));
    std::vector<double> further(all.gains.size(), 0.0);
    for (const Operation* op : found.behind.read_by) {
      const std::vector<double> gains = gains_of(*op, *weight_index(*op));
      const auto& seen = run_.channels[op->input(0)->id()];
      if (!seen || gains.size() != further.size() || seen->mean.size() != further.size())
        return std::nullopt;
      for (size_t c = 0; c < further.size(); ++c) {
        further[c] += gains[c];
        all.signal += gains[c] * (seen->mean_square[c] - seen->mean[c] * seen->mean[c]);
      }
    }
    for (size_t c = 0; c < further.size(); ++c) all.gains[c] *= further[c];
    if (!(all.signal > 0)) return std::nullopt;
    return all;
  }

  bool choose_parts(UnevenChannels& found) const {
    const auto& seen = run_.channels[found.read_by->input(0)->id()];
    const std::optional<Reached> cost = reached(found);
    if (!seen || !cost || seen->min.size() != cost->gains.size() ||
        cost->gains.size() > tuning::kMostUnevenChannels)
      return false;
    std::vector<double> widths;
    for (size_t c = 0; c < seen->min.size(); ++c)
      widths.push_back(static_cast<double>(std::max(seen->max[c], 0.0f)) -
                       static_cast<double>(std::min(seen->min[c], 0.0f)));
    Parts parts(std::move(widths), cost->gains);
    size_t count = 1;
    while (count < std::min(tuning::kMostChannelParts, cost->gains.size()) &&
           parts.noise(count + 1) < tuning::kAnotherPart * parts.noise(count))
      ++count;
    // The variance of rounding to one of 255 steps.
    constexpr double kOfStep = 1.0 / (12 * 255.0 * 255.0);
    if (kOfStep * parts.noise(1) < tuning::kUnevenNoise * cost->signal ||
        parts.noise(count) > tuning::kUnevenGain * parts.noise(1))
      return false;
    found.parts = parts.get(count);
    return true;
  }

  const Graph& graph_;
  const Plan& plan_;
  const CalibrationRun& run_;
  std::vector<size_t> place_;  // in topological order, by operation id
};

}  // namespace

std::vector<UnevenChannels> uneven_channels(const Graph& graph, const Plan& plan,
                                            const CalibrationRun& run) {
  Finder finder(graph, plan, run);
  std::vector<UnevenChannels> all;
  for (Operation* op : graph.topological())
    if (std::optional<UnevenChannels> found = finder.behind(op)) all.push_back(std::move(*found));
  return all;
}

}  // namespace ec::quantize
