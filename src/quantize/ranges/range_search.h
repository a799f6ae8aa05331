// Ranges from what a histogram saw: how much to cut off so that the rest is represented better.
#pragma once

#include "quantize/ranges/histogram.h"

namespace ec::quantize {

// Holds `percent` of all values; what is cut off is shared by both ends.
Range percentile_range(const Histogram& histogram, double percent);
// The smallest expected squared error on `levels` steps: rounding inside, clipping outside.
Range least_squares_range(const Histogram& histogram, double levels = 255);
// The least Kullback-Leibler divergence between the values and their representation on 8 bits
// (Migacz, "8-bit inference with TensorRT").
Range least_divergence_range(const Histogram& histogram);

// Mean squared error that representing the values by [min, max] would make.
double expected_error(const Histogram& histogram, const Range& range, double levels = 255);

}  // namespace ec::quantize
