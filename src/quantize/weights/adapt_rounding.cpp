#include "quantize/weights/adapt_rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quantize/trial/measurements.h"
#include "quantize/tuning.h"
#include "runtime/kernels/thread_pool.h"

namespace ec::quantize {
namespace {

// How far the error of one weight can be made up for by those that are rounded after it.
class Compensation {
 public:
  // Seen at few positions, a covariance is mostly chance: it is trusted in proportion. `mean` where
  // an error of the mean counts too; else empty.
  Compensation(std::span<const float> covariance, std::span<const double> mean, size_t depth,
               size_t positions)
      : order_(depth), factors_(depth * (depth + 1) / 2) {
    std::iota(order_.begin(), order_.end(), 0u);
    const auto moment = [&](size_t i, size_t j) {
      return static_cast<double>(covariance[i * depth + j]) +
             (mean.empty() ? 0 : mean[i] * mean[j]);
    };
    const auto variance = [&](size_t k) { return moment(k, k); };
    // Rounded from the last to the first: what matters most while all others can still make up.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return variance(a) < variance(b); });
    double usual = 0;
    for (size_t k = 0; k < depth; ++k) usual += variance(k);
    usual /= static_cast<double>(depth);
    const double trust = static_cast<double>(positions) / static_cast<double>(positions + depth);
    // covariance = L D L^T with ones on the diagonal of L.
    std::vector<double> diagonal(depth), line(depth);
    for (size_t i = 0; i < depth; ++i) {
      float* factors = row(i);
      double rest = variance(order_[i]) + tuning::kCovarianceDamping * usual;
      for (size_t j = 0; j < i; ++j) {
        const double value = trust * moment(order_[i], order_[j]) - dot(line.data(), row(j), j);
        // line holds L D while the row is made.
        line[j] = value;
        factors[j] = diagonal[j] > 0 ? static_cast<float>(value / diagonal[j]) : 0.0f;
        rest -= value * static_cast<double>(factors[j]);
      }
      diagonal[i] = std::max(rest, tuning::kLeastVariance * usual);
    }
  }

  std::span<const uint32_t> order() const { return order_; }
  std::span<const float> factors(size_t i) const { return {row(i), i}; }

 private:
  static double dot(const double* a, const float* b, size_t count) {
    double sums[4] = {};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
      for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * static_cast<double>(b[i + k]);
    for (; i < count; ++i) sums[0] += a[i] * static_cast<double>(b[i]);
    return sums[0] + sums[1] + sums[2] + sums[3];
  }
  const float* row(size_t i) const { return factors_.data() + i * (i + 1) / 2; }
  float* row(size_t i) { return factors_.data() + i * (i + 1) / 2; }

  std::vector<uint32_t> order_;
  std::vector<float> factors_;  // L below its diagonal, by rows
};

// Steps, in the order of the compensation.
void round_row(const Compensation& compensation, std::span<const float> exact,
               std::vector<float>& wanted, std::span<int8_t> steps) {
  wanted.assign(exact.begin(), exact.end());
  constexpr auto kLimit = static_cast<float>(kLargestWeight);
  for (size_t k = exact.size(); k-- > 0;) {
    const float step = std::clamp(std::round(wanted[k]), -kLimit, kLimit);
    steps[k] = static_cast<int8_t>(step);
    const float error = exact[k] - step;
    const std::span<const float> factors = compensation.factors(k);
    for (size_t i = 0; i < k; ++i) wanted[i] += error * factors[i];
  }
}

void adapt_layer(const WeightRows& rows, std::span<const float> exact, const InputMoments& inputs,
                 IntegerWeights& weights, kernels::ThreadPool& pool) {
  const size_t per_group = rows.rows / rows.groups, depth = rows.depth;
  const auto in_group = [&](const Compensation& compensation, size_t row) {
    const float scale = weights.params.scales[weights.params.scales.size() == 1 ? 0 : row];
    std::vector<float> in_steps(depth), wanted;
    std::vector<int8_t> steps(depth);
    for (size_t k = 0; k < depth; ++k)
      in_steps[k] = exact[rows.element(row, compensation.order()[k])] / scale;
    round_row(compensation, in_steps, wanted, steps);
    for (size_t k = 0; k < depth; ++k)
      weights.values[rows.element(row, compensation.order()[k])] = steps[k];
  };
  const auto of_group = [&](size_t group) {
    std::span<const double> mean;
    if (weights.bias.empty()) mean = std::span(inputs.mean).subspan(group * depth, depth);
    return Compensation(std::span(inputs.covariance).subspan(group * depth * depth, depth * depth),
                        mean, depth, inputs.positions);
  };
  if (rows.groups == 1) {
    const Compensation compensation = of_group(0);
    pool.parallel_for(static_cast<int64_t>(rows.rows),
                      [&](int64_t row, int) { in_group(compensation, static_cast<size_t>(row)); });
  } else {
    pool.parallel_for(static_cast<int64_t>(rows.groups), [&](int64_t group, int) {
      const Compensation compensation = of_group(static_cast<size_t>(group));
      for (size_t i = 0; i < per_group; ++i)
        in_group(compensation, static_cast<size_t>(group) * per_group + i);
    });
  }
  weights.adjusted = true;
}

// How the weights of a layer that can be adapted are laid out; empty: the layer keeps its weights.
std::optional<WeightRows> adaptable_rows(const Operation& op, const LayerWeights& weights,
                                         const AdaptRoundingOptions& options) {
  if (!weights[op.id()] || weights[op.id()]->operand != 1) return std::nullopt;
  std::optional<WeightRows> rows = weight_rows(op);
  if (rows && rows->depth > options.most_depth) rows.reset();
  return rows;
}

Result<LayerWeights> adapt_layers(const Graph& graph, const LayerWeights& weights,
                                  SampleSource& source, std::span<const size_t> samples,
                                  const AdaptRoundingOptions& options) {
  LayerWeights adapted = weights;
  kernels::ThreadPool pool(options.inputs.threads);
  std::vector<const Operation*> layers;
  size_t bytes = 0;
  const auto flush = [&]() -> Status {
    EC_TRY(const std::vector<InputMoments> inputs,
           layer_inputs(graph, layers, source, samples, options.inputs));
    for (size_t i = 0; i < layers.size(); ++i)
      adapt_layer(*weight_rows(*layers[i]), layers[i]->input(1)->values<float>(), inputs[i],
                  *adapted[layers[i]->id()], pool);
    layers.clear();
    bytes = 0;
    return {};
  };
  for (const Operation* op : graph.topological()) {
    const std::optional<WeightRows> rows = adaptable_rows(*op, weights, options);
    if (!rows) continue;
    const size_t needed = rows->groups * rows->depth * rows->depth * 2 * sizeof(float);
    if (!layers.empty() && bytes + needed > tuning::kCovarianceBytes) EC_CHECK_OK(flush());
    layers.push_back(op);
    bytes += needed;
  }
  if (!layers.empty()) EC_CHECK_OK(flush());
  return adapted;
}

}  // namespace

double adapting_cost(const Graph& graph, const LayerWeights& weights,
                     const AdaptRoundingOptions& options) {
  double cost = 0;
  for (const Operation* op : graph.topological()) {
    const std::optional<WeightRows> rows = adaptable_rows(*op, weights, options);
    if (!rows) continue;
    const auto depth = static_cast<double>(rows->depth), groups = static_cast<double>(rows->groups);
    // Moments, factors, and the rows one after the other.
    cost += depth * depth *
            (groups * static_cast<double>(options.inputs.positions) + groups * depth / 3 +
             static_cast<double>(rows->rows));
  }
  return cost;
}

Result<LayerWeights> adapt_rounding(const Graph& graph, const LayerWeights& weights,
                                    SampleSource& source, std::span<const size_t> samples,
                                    const AdaptRoundingOptions& options) {
  const auto measure = [&] { return adapt_layers(graph, weights, source, samples, options); };
  Measurements* measurements = source.measurements();
  return measurements != nullptr ? measurements->weights(weights, measure) : measure();
}

}  // namespace ec::quantize
