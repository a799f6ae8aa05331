// What quantisation did and what it cost, at the outputs and layer by layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ec {

// The difference between two runs of one tensor, over all samples.
struct ErrorSummary {
  double sqnr_db = 0;  // 10 log10(signal / noise); at most 120
  double cosine = 0;
  double rmse = 0;
  double mean_error = 0;
  double max_error = 0;
  double clip_rate = 0;  // share of float values outside the integer range
};

struct LayerError {
  std::string name;  // in the source model
  std::string op;    // "input" for an input of the model
  std::string tensor;
  ErrorSummary error;  // with everything before it quantised too
  // Error that this layer alone makes at the outputs, as a share of what all layers make so; empty
  // where it was not measured.
  std::optional<double> own_share;
  std::string cause, advice;  // empty where nothing stands out
  double scale = 0;
  int64_t zero_point = 0;

  // The root mean square of the error in steps of the integer scale.
  double rmse_in_steps() const { return scale > 0 ? error.rmse / scale : 0.0; }
};

// One of several things that an output holds side by side, such as boxes and scores.
struct PartError {
  std::string name;     // the output with the indices of the part: "output0[:, 4:22]"
  std::string meaning;  // "scores" or "values"
  // Of scores: of those that a threshold may let through, not of the thousands near zero.
  ErrorSummary error;
  // Scores above 0.25: in the float model, in the quantised one, and in both.
  std::optional<int64_t> scores_float, scores_quantized, scores_both;
  std::optional<double> decision_agreement;  // of these sets, 1 where they are equal
};

struct OutputError {
  std::string name;
  ErrorSummary error;
  // Where the output holds scores of classes: share of lists whose largest has the same index.
  std::optional<double> top1_agreement;
  std::vector<PartError> parts = {};  // empty where the output is one list of values
};

// One number that a task is judged by.
struct TaskFigure {
  std::string name, text;  // the key, and what people read
  double value = 0;
  bool count = false;  // a whole number
};

// What the outputs mean, and how far the answers agree with the reference's.
struct TaskSummary {
  std::string name;                 // "detection"; "unknown": nothing fits
  std::string head;                 // "YOLOX"; empty where the task has one form
  std::string reason;               // why it was taken for that
  std::optional<double> agreement;  // 0 to 1; empty where nothing could be compared
  std::vector<TaskFigure> figures;
};

struct AccuracySummary {
  int64_t samples = 0;
  bool held_out = false;           // the samples took no part in calibration
  std::vector<LayerError> inputs;  // what rounding them alone costs
  std::vector<OutputError> outputs;
  std::optional<TaskSummary> task;   // empty where the outputs are those of no known task
  std::vector<LayerError> layers;    // in order of execution
  std::vector<size_t> worst_layers;  // indices of those that cost most, the worst first
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
struct StoredWeightSummary {
  std::string name, type;
  int64_t bytes_before = 0, bytes_after = 0;  // scales included
  double sqnr_db = 0;
};

// A layer that the budget raised.
struct RaisedLayer {
  std::string name, op;
  std::string to;              // "16-bit activations" or "float"
  double work_share = 0;       // about its share of all multiplications: how much becomes slower
  bool leaves_device = false;  // the target has integers only: it runs on the CPU beside it
};

struct QuantizationReport {
  std::string strategy, target, method, io_type, preprocessing;
  int64_t calibration_samples = 0;
  int64_t integer_operations = 0, float_operations = 0;  // of those that compute on real numbers
  std::vector<KeptInFloat> kept_in_float;
  std::vector<std::string> widened_weights;
  std::vector<StoredWeightSummary> stored_weights;  // of strategies that keep float activations
  std::vector<MethodGain> methods;
  std::vector<RaisedLayer> raised;
  AccuracySummary accuracy;
  std::vector<StepTime> steps;
};

}  // namespace ec
