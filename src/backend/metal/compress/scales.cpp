#include "backend/metal/compress/scales.h"

#include <algorithm>
#include <cmath>

#include "support/small_float.h"

namespace ec::metal {
namespace {

float rounded(float value, bool half) { return half ? half_to_float(float_to_half(value)) : value; }

// One block, gathered: its weights and where they lie.
class Block {
 public:
  Block(int bits, bool half)
      : low_(-static_cast<float>(1 << (bits - 1))), high_(-low_ - 1), half_(half) {}

  void clear() {
    values_.clear();
    places_.clear();
  }
  void add(float value, size_t place) {
    values_.push_back(value);
    places_.push_back(place);
  }

  // The scale with the least squared error.
  float find_scale() const {
    float largest = 0;
    for (const float value : values_) largest = std::max(largest, std::abs(value));
    const float plain = usable(largest / high_);
    float best = plain;
    double error = error_of(best);
    const auto consider = [&](float scale) {
      scale = usable(scale);
      const double other = error_of(scale);
      if (!(other < error)) return false;
      error = other;
      best = scale;
      return true;
    };
    // Smaller scales cut off the largest weights and are finer for all others.
    for (const float share : {0.95f, 0.9f, 0.85f, 0.8f, 0.75f, 0.7f, 0.6f})
      consider(largest / high_ * share);
    consider(-largest / low_);
    // The best scale for the integers that the last one gives, as long as that helps.
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds && consider(fitted(best)); ++round) continue;
    // Products are rounded, which weights of few different values show.
    return unpacked_error(plain) < unpacked_error(best) ? plain : best;
  }

  void store(float scale, std::vector<int8_t>& data) const {
    for (size_t i = 0; i < values_.size(); ++i)
      data[places_[i]] = static_cast<int8_t>(integer(values_[i], 1 / scale));
  }

 private:
  // One of the type's smallest numbers would divide by zero.
  float usable(float scale) const {
    const float number = rounded(scale, half_);
    return number > 0 ? number : 1.0f;
  }
  float integer(float value, float inverse) const {
    return std::clamp(std::nearbyint(value * inverse), low_, high_);
  }
  double error_of(float scale) const {
    const float inverse = 1 / scale;
    double error = 0;
    for (const float value : values_) {
      const double difference = double{value} - double{scale} * double{integer(value, inverse)};
      error += difference * difference;
    }
    return error;
  }
  // The same with products as programs have them.
  double unpacked_error(float scale) const {
    const float inverse = 1 / scale;
    double error = 0;
    for (const float value : values_) {
      const double difference =
          double{value} - double{rounded(scale * integer(value, inverse), half_)};
      error += difference * difference;
    }
    return error;
  }
  float fitted(float scale) const {
    const float inverse = 1 / scale;
    double product = 0, squares = 0;
    for (const float value : values_) {
      const double q = double{integer(value, inverse)};
      product += q * double{value};
      squares += q * q;
    }
    return squares > 0 ? static_cast<float>(product / squares) : scale;
  }

  float low_, high_;
  bool half_;
  std::vector<float> values_;
  std::vector<size_t> places_;
};

// Walks positions of `sizes` in order.
bool advance(std::vector<int64_t>& at, const std::vector<int64_t>& sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++at[d] < sizes[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace

std::vector<int64_t> BlockCut::counts() const {
  std::vector<int64_t> counts;
  for (size_t d = 0; d < shape.size(); ++d) counts.push_back(shape[d] / block[d]);
  return counts;
}

ScaledWeights scale_weights(std::span<const float> weights, const BlockCut& cut, int bits,
                            bool half) {
  const std::vector<int64_t> counts = cut.counts();
  const size_t rank = counts.size();
  ScaledWeights result;
  result.data.resize(weights.size());
  Block block(bits, half);
  std::vector<int64_t> outer(rank, 0), inner(rank, 0);
  do {
    block.clear();
    do {
      int64_t place = 0;
      for (size_t d = 0; d < rank; ++d)
        place = place * cut.shape[d] + outer[d] * cut.block[d] + inner[d];
      block.add(weights[static_cast<size_t>(place)], static_cast<size_t>(place));
    } while (advance(inner, cut.block));
    const float scale = block.find_scale();
    block.store(scale, result.data);
    result.scales.push_back(scale);
  } while (advance(outer, counts));
  return result;
}

}  // namespace ec::metal
