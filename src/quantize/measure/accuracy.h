// What quantisation costs, layer by layer and at the outputs, on samples that were kept apart from
// calibration.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quantize/convert/convert.h"
#include "quantize/measure/class_scores.h"
#include "quantize/measure/output_parts.h"
#include "quantize/ranges/calibrate.h"
#include "quantize/trial/reference_outputs.h"

namespace ec::quantize {

struct Rounding;

// Errors of one tensor over all samples.
struct ErrorStatistics {
  double signal = 0, noise = 0;  // sums of squares: of the float values, of the differences
  double product = 0, quantized = 0;
  double largest = 0;   // difference
  double absolute = 0;  // sum of differences
  int64_t clipped = 0;  // float values outside the integer range
  int64_t count = 0;

  double sqnr_db() const;  // 10 log10(signal / noise); at most 120
  double cosine() const;
  double rmse() const;
  double mean_error() const;
  double clip_rate() const;

  void add(std::span<const float> expected, std::span<const float> got);
};

struct LayerAccuracy {
  std::string name;  // in the source model
  std::string op;
  std::string tensor;
  uint32_t operation = 0;  // id in the analysed graph
  float scale = 0;
  int32_t zero_point = 0;
  ErrorStatistics error;  // with everything before it quantised too
  // Error that this layer alone makes at the outputs, as a share of what all layers make so; empty
  // where it was not measured.
  std::optional<double> own_share;
  std::string cause, advice;  // empty where nothing stands out
  bool mixes_ranges = false;  // operands of very different size share one scale
};

// Scores above the threshold that decisions are usually made with.
struct DecisionCounts {
  int64_t expected = 0, got = 0, both = 0;

  void add(std::span<const float> a, std::span<const float> b);
  // How alike both sets are, 1 where they are equal (Dice coefficient). Empty without any score.
  std::optional<double> agreement() const;
};

// One of several parts that an output holds side by side.
struct PartAccuracy {
  std::string name;  // "output0[:, 4:22]"
  PartMeaning meaning = PartMeaning::Values;
  // Of scores: of those that a threshold may let through, not of the thousands near zero.
  ErrorStatistics error;
  DecisionCounts decisions;  // of scores
};

struct OutputAccuracy {
  std::string name;
  ErrorStatistics error;
  // Where the output holds scores of classes: share of lists whose largest has the same index.
  std::optional<double> top1_agreement;
  // Empty where the output is one list of values.
  std::vector<PartAccuracy> parts = {};

  // The worst part, by its own scale; the whole output where it has no parts.
  double judged_sqnr_db() const;
};

struct AccuracyReport {
  std::vector<LayerAccuracy> inputs;  // what rounding them alone costs; their operation is "input"
  std::vector<LayerAccuracy> layers;  // in order of execution
  std::vector<OutputAccuracy> outputs;
  // The answers of both networks, where outputs are those of a known task.
  std::optional<tasks::TaskResult> task;
  // What the task's own sums lose (tasks::Difference), as a share; empty where it has none. Changes
  // with every rounding, where answers of a few samples jump from one to the next.
  std::optional<double> task_loss;
  size_t samples = 0;
  bool held_out = false;  // the samples took no part in calibration

  // The worst of all outputs and their parts.
  double worst_sqnr_db() const;
  // How alike the answers are, from 0 to 1: that of the task, else that of lists of scores and of
  // scores above a threshold. Empty: the outputs have no answers.
  std::optional<double> agreement() const;

  // The layers, those that cost most first: mixes of ranges, then by their share where that was
  // measured, then by SQNR.
  std::vector<const LayerAccuracy*> ranked() const;
};

// A float graph and what was made from it.
struct Simulation {
  const Graph& graph;
  const Plan& plan;
  const Conversion& simulated;
  const FormParams& params;
  const std::vector<std::optional<Range>>& needed;  // by tensor id; see CalibrationRun
  const OutputMeaning& meaning;                     // of the outputs
};

// Runs both graphs side by side. Tensors in front of a fused activation are left out, as they have
// the range of its result. Values are compared as their readers tell them apart. Memory: one
// sample's quantised activations.
Result<AccuracyReport> measure_accuracy(const Simulation& simulation, SampleSource& source,
                                        std::span<const size_t> samples, int threads);

// The outputs alone, of any graph with the same interface. `reference` holds outputs of `exact`, so
// that several changed graphs are compared with one run of it.
Result<AccuracyReport> measure_outputs(const Graph& exact, const Graph& changed,
                                       SampleSource& source, std::span<const size_t> samples,
                                       int threads, ReferenceOutputs& reference);

// The same of `exact` itself with what `rounding` names rounded: nothing is converted, and only
// that is in the result.
Result<AccuracyReport> measure_rounded(const Graph& exact, const Plan& plan,
                                       const Rounding& rounding, SampleSource& source,
                                       std::span<const size_t> samples, int threads,
                                       ReferenceOutputs& reference);

}  // namespace ec::quantize
