// Mean and covariance of the values that a layer multiplies with its weights (those under its
// window), over samples. Memory is bounded by the layers asked for, not by the samples.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "quantize/calibration/sample_source.h"
#include "quantize/tuning.h"
#include "support/result.h"

namespace ec::quantize {

// How the weights of a layer are laid out: rows of products that add up to one result.
struct WeightRows {
  size_t groups = 1;
  size_t rows = 0;   // results, of all groups
  size_t depth = 0;  // products per result
  bool transposed = false;

  size_t element(size_t row, size_t k) const {
    return transposed ? k * rows + row : row * depth + k;
  }
};
// The layout of the weights of a convolution with channels last or of a linear layer; empty for
// other operations and weights that are not constant.
std::optional<WeightRows> weight_rows(const Operation& op);

struct InputMoments {
  size_t depth = 0;
  size_t positions = 0;           // of the window that were looked at
  std::vector<double> mean;       // [groups, depth]
  std::vector<float> covariance;  // [groups, depth, depth]
};

struct LayerInputsOptions {
  size_t positions = tuning::kAdaptPositions;  // of each layer's window, over all samples
  int threads = 1;
};

// In the order of the layers, which weight_rows() describes.
Result<std::vector<InputMoments>> layer_inputs(const Graph& graph,
                                               std::span<const Operation* const> layers,
                                               SampleSource& source,
                                               std::span<const size_t> samples,
                                               const LayerInputsOptions& options);

}  // namespace ec::quantize
