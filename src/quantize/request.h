// What a caller asks of a strategy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quantize/calibration/sample_source.h"
#include "quantize/convert/convert.h"
#include "quantize/ranges/observer.h"
#include "quantize/strategy/qdq_parameters.h"
#include "quantize/tuning.h"

namespace ec::quantize {

// Whether a method that changes the numbers is used.
enum class Switch : uint8_t {
  Auto,  // where it was measured to help
  On,
  Off,
};

struct AccuracyMethods {
  Switch equalize = Switch::Auto;      // ranges of weights, between neighbouring layers
  Switch balance = Switch::Auto;       // ranges of activations against the weights behind them
  Switch correct_bias = Switch::Auto;  // the mean error of rounded weights
  // Weights rounded for the layer's results instead of each for itself. Auto: large networks with
  // high effort only.
  Switch adapt_rounding = Switch::Auto;
  // Float outputs are not rounded to 8 bits. Auto: where the layers that make them are little work.
  Switch precise_outputs = Switch::Auto;
};

// Accuracy that the result must have, measured against the float model on samples kept apart (no
// labels are needed). Layers are raised to a wider type until it holds.
struct AccuracyBudget {
  std::optional<double> max_drop;  // of top-1 agreement, 0.01: one in a hundred may differ
  std::optional<double> min_sqnr;  // of every output, in dB
  bool asked() const { return max_drop || min_sqnr; }
};

struct QuantizeRequest {
  const TargetSpec* target = nullptr;
  SampleSource* samples = nullptr;
  size_t wanted_samples = 0;  // 0: what is there, at most tuning::kDefaultSamples
  std::string method;         // of the observers; empty: the default
  ObserverOptions observer;
  IoType io = IoType::Float;
  GraphForm form = GraphForm::Integer;  // Simulated: with a float interface
  bool weights_per_tensor = false;
  AccuracyMethods methods;
  bool high_effort = false;  // tries more, takes longer
  AccuracyBudget budget;
  RecordedWeights recorded;  // of the model before passes
  Preprocessing preprocessing;
  std::string pixel_input;  // takes pixels from 0 to 255; empty: none
  std::vector<std::string> keep_float;
  int threads = 1;
};

}  // namespace ec::quantize
