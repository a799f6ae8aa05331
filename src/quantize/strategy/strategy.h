// Ways to make a float graph integer, by name. A strategy is a sequence of named steps; each step
// is a function of its own header (plan.h, calibrate.h, parameters.h, convert.h, verify.h,
// accuracy.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantize/measure/accuracy.h"
#include "quantize/ranges/observer.h"
#include "quantize/strategy/qdq_parameters.h"

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

// Without labels: against the float model, on samples kept apart. Layers are raised to a wider type
// until it holds.
struct AccuracyBudget {
  std::optional<double> max_drop;  // of top-1 agreement, 0.01: one in a hundred may differ
  std::optional<double> min_sqnr;  // of every output, in dB
  bool asked() const { return max_drop || min_sqnr; }
};

struct QuantizeRequest {
  const TargetSpec* target = nullptr;
  SampleSource* samples = nullptr;
  size_t wanted_samples = 0;  // 0: what is there, at most kDefaultSamples
  std::string method;         // of the observers; empty: the default
  ObserverOptions observer;
  IoType io = IoType::Float;
  GraphForm form = GraphForm::Integer;  // Simulated: with a float interface
  Width width = Width::Narrow;
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

struct KeptInFloat {
  std::string name;  // in the source model
  std::string op;
  std::string reason;
  bool on_purpose = false;  // a method chose it: nothing to warn of
};

struct StepTime {
  std::string step;
  double milliseconds = 0;
};

// What a method did to the SQNR of the outputs, measured with ranges and samples held equal.
struct MethodGain {
  std::string method;
  bool applied = false;
  double before_db = 0, after_db = 0;
  std::string note;
};

// A constant that is stored with fewer bits than it is read with.
struct StoredWeight {
  std::string name, type;
  int64_t bytes_before = 0, bytes_after = 0;  // scales included
  ErrorStatistics error;
};

// A layer that the budget raised.
struct RaisedLayer {
  std::string name, op;
  std::string to;              // "16-bit activations" or "float"
  double work_share = 0;       // of all multiplications, about: what becomes slower
  bool leaves_device = false;  // the target has integers only: it runs on the CPU beside it
};

struct QuantizeReport {
  std::string strategy, target, method, io_type, preprocessing;
  std::vector<MethodGain> methods;
  std::vector<RaisedLayer> raised;
  size_t calibration_samples = 0;
  int64_t integer_ops = 0, float_ops = 0;  // of those that compute on real numbers
  std::vector<KeptInFloat> kept_in_float;
  std::vector<std::string> widened_weights;
  std::vector<StoredWeight> stored_weights;  // of strategies that leave activations as floats
  AccuracyReport accuracy;
  std::vector<StepTime> steps;
};

struct QuantizeResult {
  std::unique_ptr<Graph> graph;
  QuantizeReport report;
};

struct StepInfo {
  std::string_view name, summary;
};

enum class SampleUse : uint8_t {
  Needed,    // ranges come from them
  Optional,  // they measure the result
  Unused,
};

struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::span<const StepInfo> steps;
  SampleUse samples = SampleUse::Needed;
  // Activations stay as they are, and with them the interface.
  bool float_activations = false;
  bool integer_weights = true;
  // Activations have 16 bits.
  bool wide_activations = false;
  // Scales and zero points are those that the model carries.
  bool keeps_carried_parameters = false;
  std::string_view alias = {};  // another name that is accepted
  // `graph` is in the form the target's writer takes. It is not changed.
  Result<QuantizeResult> (*run)(const Graph& graph, const QuantizeRequest& request,
                                DiagnosticSink& sink);
};

std::span<const Strategy> all_strategies();
// By name or alias. Usage: no such strategy, with the nearest name.
Result<const Strategy*> find_strategy(std::span<const Strategy* const> strategies,
                                      std::string_view name);

}  // namespace ec::quantize
