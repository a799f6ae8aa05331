// How much to scale the channels between two layers so that rounding costs least. A channel is
// divided by its factor where it is made and multiplied by it where it is read; which factors are
// best is told by a model of the noise that rounding makes on both sides and in between.
#pragma once

#include <cstddef>
#include <vector>

namespace ec::quantize {

// Weights that read the channels.
struct ReadingLayer {
  bool per_tensor = false;  // one scale for all rows; those that read all channels count as one row
  size_t rows = 0;
  size_t taps = 1;  // weights of a row that read the same channel
  // Largest weight by [row, channel], or by channel where each row reads the channel of its number.
  std::vector<float> largest;
  bool depthwise = false;
  std::vector<double> importance;  // by row: what an error of its result costs
};

// The channels of one activation, with the weights on both sides. All vectors are by channel.
struct ScalableChannels {
  std::vector<double> low, high;  // extremes of the activation
  std::vector<double> square;     // its mean square
  std::vector<double> gain;       // what a squared error of it costs
  // The weights that make the channel, where they share one scale (else both are empty): the
  // largest of them, and the squared error of the result for an error of 1 in each of them.
  std::vector<double> made, made_gain;
  std::vector<double> least;  // what a factor may not fall below
  std::vector<bool> fixed;    // channels that keep their scale
  std::vector<ReadingLayer> readers;

  size_t size() const { return square.size(); }
};

// Squared error at the readers' results that rounding makes; in the same unit for all factors.
double rounding_noise(const ScalableChannels& channels, const std::vector<double>& factors);

// The factors with the least rounding noise; ones where no factor is worth a change.
std::vector<double> best_factors(const ScalableChannels& channels);

}  // namespace ec::quantize
