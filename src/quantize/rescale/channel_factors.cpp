#include "quantize/rescale/channel_factors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantize/tuning.h"

namespace ec::quantize {
namespace {

constexpr double kActivationSteps = 255, kWeightSteps = 127;
constexpr double kNone = std::numeric_limits<double>::infinity();

double square_of(double x) { return x * x; }

// Largest weight of any row by channel.
std::vector<double> largest_read(const ScalableChannels& channels) {
  std::vector<double> result(channels.size(), 0.0);
  for (const ReadingLayer& layer : channels.readers)
    for (size_t i = 0; i < layer.largest.size(); ++i) {
      const size_t c = layer.depthwise ? i : i % channels.size();
      result[c] = std::max(result[c], static_cast<double>(layer.largest[i]));
    }
  return result;
}

double reading_noise(const ScalableChannels& channels, const ReadingLayer& layer,
                     const std::vector<double>& factors) {
  std::vector<double> step(layer.rows, 0.0);
  if (layer.depthwise)
    for (size_t r = 0; r < layer.rows; ++r)
      step[r] = static_cast<double>(layer.largest[r]) * factors[r];
  else
    for (size_t r = 0; r < layer.rows; ++r) {
      const float* line = layer.largest.data() + r * channels.size();
      for (size_t c = 0; c < channels.size(); ++c)
        step[r] = std::max(step[r], static_cast<double>(line[c]) * factors[c]);
    }
  if (layer.per_tensor && !step.empty())
    std::fill(step.begin(), step.end(), *std::max_element(step.begin(), step.end()));
  double inputs = 0;
  for (size_t c = 0; c < channels.size(); ++c) inputs += channels.square[c] / square_of(factors[c]);
  double noise = 0;
  for (size_t r = 0; r < layer.rows; ++r)
    noise += layer.importance[r] * square_of(step[r] / kWeightSteps) *
             (layer.depthwise ? channels.square[r] / square_of(factors[r]) : inputs);
  return noise * static_cast<double>(layer.taps);
}

// One way to choose: the ideal balance of what is made and read, times `level`, as far as the range
// of the activation and the largest weights allow.
struct Shape {
  double level = 1;
  double most_made = kNone;  // largest weight that makes a channel
  double most_read = kNone;  // largest weight that reads one
};

class Chooser {
 public:
  explicit Chooser(const ScalableChannels& channels)
      : channels_(channels), read_(largest_read(channels)), ideal_(channels.size(), 1.0) {
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; c < ideal_.size(); ++c) {
      if (channels.square[c] <= 0 || channels.gain[c] <= 0) continue;
      // The factor at which the errors of the activation and of the weights behind it are balanced.
      ideal_[c] = std::pow(channels.square[c] / channels.gain[c], 0.25);
      sum += std::log(ideal_[c]);
      ++count;
    }
    const double middle = count > 0 ? std::exp(sum / static_cast<double>(count)) : 1;
    for (double& factor : ideal_) factor /= middle;
    for (size_t c = 0; c < ideal_.size(); ++c) {
      if (!channels.made.empty()) most_made_ = std::max(most_made_, channels.made[c]);
      most_read_ = std::max(most_read_, read_[c]);
      low_ = std::min(low_, channels.low[c]);
      high_ = std::max(high_, channels.high[c]);
      per_tensor_ |= !channels.made.empty();
    }
    for (const ReadingLayer& layer : channels.readers) per_tensor_ |= layer.per_tensor;
  }

  std::vector<double> best() {
    std::vector<double> best(channels_.size(), 1.0);
    double least = tuning::kFactorsNoise * rounding_noise(channels_, best);
    for (int level = -tuning::kFactorLevels; level <= tuning::kFactorLevels; ++level)
      for (int made = 0; made < (channels_.made.empty() ? 1 : tuning::kFactorLimits); ++made)
        for (int read = 0; read < (per_tensor_ ? tuning::kFactorLimits : 1); ++read) {
          Shape shape;
          shape.level = std::exp2(level);
          if (made > 0) shape.most_made = most_made_ * std::exp2(0.5 * (1 - made));
          if (read > 0) shape.most_read = most_read_ * std::exp2(0.5 * (5 - read));
          std::vector<double> factors = factors_of(shape);
          const double noise = rounding_noise(channels_, factors);
          if (noise >= least) continue;
          least = noise;
          best = std::move(factors);
        }
    return best;
  }

 private:
  std::vector<double> factors_of(const Shape& shape) const {
    std::vector<double> factors(channels_.size(), 1.0);
    for (size_t c = 0; c < factors.size(); ++c) {
      if (channels_.fixed[c]) continue;
      double factor = shape.level * ideal_[c];
      if (read_[c] > 0) factor = std::min(factor, shape.most_read / read_[c]);
      if (!channels_.made.empty()) factor = std::max(factor, channels_.made[c] / shape.most_made);
      // The range of the activation stays: a factor for all channels alike would change nothing.
      if (low_ < 0) factor = std::max(factor, channels_.low[c] / low_);
      if (high_ > 0) factor = std::max(factor, channels_.high[c] / high_);
      factors[c] = std::max(channels_.least[c],
                            std::clamp(factor, 1 / tuning::kLargestFactor, tuning::kLargestFactor));
    }
    return factors;
  }

  const ScalableChannels& channels_;
  const std::vector<double> read_;
  std::vector<double> ideal_;
  double most_made_ = 0, most_read_ = 0, low_ = 0, high_ = 0;
  bool per_tensor_ = false;
};

}  // namespace

double rounding_noise(const ScalableChannels& channels, const std::vector<double>& factors) {
  double low = 0, high = 0, made = 0;
  for (size_t c = 0; c < channels.size(); ++c) {
    low = std::min(low, channels.low[c] / factors[c]);
    high = std::max(high, channels.high[c] / factors[c]);
    if (!channels.made.empty()) made = std::max(made, channels.made[c] / factors[c]);
  }
  const double activation = square_of((high - low) / kActivationSteps);
  const double weights = square_of(made / kWeightSteps);
  double noise = 0;
  for (size_t c = 0; c < channels.size(); ++c) {
    const double made_noise = channels.made.empty() ? 0 : weights * channels.made_gain[c];
    noise += channels.gain[c] * square_of(factors[c]) * (activation + made_noise);
  }
  for (const ReadingLayer& layer : channels.readers)
    noise += reading_noise(channels, layer, factors);
  return noise;
}

std::vector<double> best_factors(const ScalableChannels& channels) {
  return Chooser(channels).best();
}

}  // namespace ec::quantize
