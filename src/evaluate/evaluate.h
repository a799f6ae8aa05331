// The job `evaluate`: a model on data, compared with a reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/model_ref.h"
#include "driver/registry.h"
#include "edgecompiler/options.h"
#include "quantize/measure/accuracy.h"
#include "quantize/measure/classification.h"
#include "support/result.h"

namespace ec {

enum class PreprocessingFrom : uint8_t {
  Options,
  File,     // recorded in the model
  Nothing,  // neither given nor recorded
};
std::string_view preprocessing_from_name(PreprocessingFrom from);

// One of the two models.
struct EvaluatedModel {
  std::string path, device;
  std::string preprocessing;
  PreprocessingFrom preprocessing_from = PreprocessingFrom::Options;
  quantize::ClassificationScore score;  // empty without labels
  double run_ms = 0;                    // mean of a run
};

// An output of both models.
struct ComparedOutput {
  std::string name;
  quantize::ErrorStatistics error;
  std::optional<double> top1_agreement;
};

struct EvaluateReport {
  std::string data, label_source;
  size_t samples = 0;
  std::vector<std::string> class_names;  // by label; empty: numbers
  int64_t label_offset = 0;
  std::string score_output;  // whose scores are compared with the labels; empty without labels
  bool confusion = false;
  EvaluatedModel model;
  std::optional<EvaluatedModel> reference;
  std::vector<ComparedOutput> outputs;  // with a reference
  quantize::ChangedAnswers changed;     // with labels and a reference

  bool labelled() const { return !label_source.empty(); }
  // The name of the class at an index of the scores.
  std::string class_name(size_t index) const;
};

// Reads one sample at a time: memory does not grow with the data.
Result<EvaluateReport> evaluate_model(const Registry& registry, const ModelRef& model,
                                      const Options& options, DiagnosticSink& sink);
std::string evaluate_json(const EvaluateReport& report);

}  // namespace ec
