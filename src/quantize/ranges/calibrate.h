// Calibration: one pass of the samples through the float graph, in which observers watch every
// activation that will be quantised. Memory does not grow with the number of samples.
#pragma once

#include <functional>
#include <span>

#include "quantize/calibration/sample_source.h"
#include "quantize/ranges/observer.h"
#include "quantize/ranges/parameters.h"

namespace ec::quantize {

// Called after each sample with how many are done and how many there are.
using Progress = std::function<void(size_t done, size_t total)>;

// Statistics by channel (index of the last dimension) over all samples.
struct ChannelStatistics {
  std::vector<double> mean, mean_square;
  std::vector<float> min, max;
};

struct CalibrationRun {
  Ranges ranges;    // by tensor id: the range that the method chooses
  Ranges extremes;  // by tensor id: smallest and largest value, within what readers need
  // By tensor id: what its readers tell apart; empty where that is everything.
  std::vector<std::optional<Range>> needed;
  // By tensor id: ranges of several methods, the first as in `ranges`.
  std::vector<std::vector<Range>> candidates;
  // By tensor id, of what layers with weights read.
  std::vector<std::optional<ChannelStatistics>> channels;
  // By tensor id: holds values that no range can have, such as minus infinity in a mask. Ranges are
  // then those of the rest.
  std::vector<bool> unbounded;
  // Statistics of each model input over all samples, for the check of the preprocessing.
  struct InputStatistics {
    Range range;
    double mean = 0, deviation = 0;
  };
  std::vector<InputStatistics> inputs;
  size_t samples = 0;
  // Samples that gave the extremes of some activation, those of the most activations first.
  std::vector<size_t> extreme_samples;
};

struct CalibrationOptions {
  const ObserverMethod* method = nullptr;
  ObserverOptions observer;
  int threads = 1;
  Progress progress;
};

// Errors: those of reading samples; BadCalibrationData where an activation is not finite.
Result<CalibrationRun> calibrate(const Graph& graph, const Plan& plan, SampleSource& source,
                                 std::span<const size_t> samples,
                                 const CalibrationOptions& options);

// Warns where the inputs are far from what networks are trained on.
void check_input_ranges(const Graph& graph, const CalibrationRun& run,
                        const Preprocessing& preprocessing, DiagnosticSink& sink);

}  // namespace ec::quantize
