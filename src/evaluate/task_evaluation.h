// The task in `evaluate`: the model's answers beside those of the reference, and detections beside
// labelled boxes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edgecompiler/options.h"
#include "evaluate/evaluate.h"
#include "evaluate/evaluated_network.h"
#include "quantize/calibration/preprocess.h"
#include "tasks/detection/average_precision.h"
#include "tasks/detection/coco_labels.h"
#include "tasks/task_scorer.h"

namespace ec {

// A network, and how pictures become its input.
struct JudgedNetwork {
  const EvaluatedNetwork* network = nullptr;
  quantize::Preprocessing preprocessing;
};

class TaskEvaluation {
 public:
  // Reads labels of boxes, where --labels names a .json file.
  static Result<TaskEvaluation> open(const Options& options);
  // The network is a detector, as far as the samples tell.
  bool finds_objects() const { return scorer_ && scorer_->task() == tasks::Task::Detection; }
  bool has_boxes() const { return boxes_.has_value(); }

  // Before the first sample. `outputs` are the names of those that are compared, in the order in
  // which add() gets them. Where there is a reference, its answers are what counts.
  void start(JudgedNetwork model, std::optional<JudgedNetwork> reference,
             std::vector<std::string> outputs);
  bool started() const { return scorer_.has_value(); }
  // Outputs of the model and of the reference for one sample, in the same order and shapes;
  // `expected` is empty without a reference.
  Status add(const std::string& sample, const std::vector<RealOutput>& got,
             const std::vector<RealOutput>& expected);
  // Puts the figures into the report. BadCalibrationData: the labels name none of the samples.
  Status finish(EvaluateReport& report, DiagnosticSink& sink) const;

 private:
  // A network beside labelled boxes.
  struct Detector {
    JudgedNetwork judged;
    tasks::detection::AveragePrecision precision;
  };
  Status check_head() const;
  static void fill_precision(const Detector& detector, EvaluatedModel& model);
  void add_labelled(const tasks::detection::CocoPicture& picture,
                    const std::vector<RealOutput>& outputs, Detector& detector) const;

  tasks::Request request_;
  std::optional<tasks::detection::CocoLabels> boxes_;
  int64_t label_offset_ = 0, batch_ = 1;
  std::optional<tasks::TaskScorer> scorer_;
  Detector model_;
  std::optional<Detector> reference_;
  size_t unknown_ = 0;  // pictures that the labels do not name
  std::string an_unknown_;
};

}  // namespace ec
