// What runs of a model tell: results, latency and memory, accuracy on data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgecompiler/report/quantization.h"

namespace ec {

// A result of `run`.
struct ResultSummary {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string file;  // that holds the values; empty: not written
  // Of the finite elements.
  double min = 0, max = 0, mean = 0;
  int64_t max_at = 0;      // position of the first largest element: the class of a classifier
  int64_t not_finite = 0;  // elements left out of the three
  int64_t count = 0;
};

struct RunReport {
  std::string model;
  std::vector<ResultSummary> outputs;
  double open_milliseconds = 0;  // until the model was ready
  double run_milliseconds = 0;
  std::string device;
  int64_t threads = 1;
};

// Memory of a session beside the model itself.
struct MemoryUse {
  int64_t arena_bytes = 0;        // activations
  int64_t arena_lower_bound = 0;  // the most that is live at once
  int64_t packed_bytes = 0;       // packed copies of weights, folded values
};

// Time of one operation, mean over the runs.
struct OpTime {
  std::string name, op;
  bool fast = false;  // else the reference kernel ran
  std::string output_type;
  double milliseconds = 0;
  double share_percent = 0;
  std::optional<int64_t> macs;
  std::optional<double> gmac_per_second;  // of operations with multiply-adds
};

struct BenchReport {
  std::string model, device;
  int64_t iterations = 0, threads = 1;
  double mean_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, min_ms = 0, max_ms = 0;
  double throughput_fps = 0;
  double open_ms = 0;  // until the model was ready
  MemoryUse memory;
  std::vector<OpTime> per_op;  // the slowest first; where it is asked for
};

struct ConfusionCount {
  std::string label, predicted;  // names of classes
  int64_t count = 0;
};

// One of the models that `evaluate` ran.
struct EvaluatedModel {
  std::string path;
  std::optional<double> top1, top5;  // with labels
  // With labels of boxes: average precision, mean over the classes, at IoU 0.5 and 0.5 to 0.95.
  std::optional<double> map50, map50_95;
  std::string preprocessing;
  std::string preprocessing_from;  // "options", "file", "other file" (that of the model beside it),
                                   // "nothing"
  std::string device;
  double run_milliseconds = 0;  // mean of a run
  // Where it is asked for: pairs that occurred, in order of the classes.
  std::optional<std::vector<ConfusionCount>> confusion;
};

// Answers that one model has right and the other wrong.
struct ChangedAnswersSummary {
  int64_t put_right = 0, put_wrong = 0;
  // How likely two models that are right equally often differ at least as much (exact McNemar
  // test).
  double chance = 0;
};

struct EvaluateReport {
  std::string data;
  int64_t samples = 0;
  std::string labels;  // where they come from; empty: there are none
  int64_t label_offset = 0;
  std::string score_output;          // whose scores are compared with the labels
  std::vector<std::string> classes;  // names by label; empty: numbers
  EvaluatedModel model;
  std::optional<EvaluatedModel> reference;
  std::vector<OutputError> outputs;              // with a reference
  std::optional<ChangedAnswersSummary> changed;  // with labels and a reference
  TaskSummary task;
  std::string box_labels;           // file of labelled boxes; empty: there is none
  int64_t unlabelled_pictures = 0;  // that it does not name

  bool labelled() const { return !labels.empty(); }
};

}  // namespace ec
