#include "evaluate/task_evaluation.h"

#include <fmt/format.h>

#include "quantize/calibration/picture_fit.h"
#include "report/convert.h"
#include "support/strings.h"
#include "tasks/batch.h"
#include "tasks/detection/head.h"

namespace ec {
namespace {

using tasks::detection::Detection;

std::vector<tasks::Tensor> views_of(const std::vector<RealOutput>& outputs) {
  std::vector<tasks::Tensor> views;
  for (const RealOutput& output : outputs) views.push_back({output.shape, output.values});
  return views;
}

// The first input that is an image.
std::optional<quantize::ImageForm> image_of(const JudgedNetwork& judged) {
  for (const quantize::ModelInput& input : judged.network->inputs())
    if (Result<quantize::ImageForm> form = quantize::image_form(input, judged.preprocessing))
      return std::move(*form);
  return std::nullopt;
}

// From pixels of the input to pixels of the picture.
Detection in_picture(const Detection& detection, const quantize::PictureFit& fit) {
  const auto x = [&](float value) {
    return static_cast<float>((static_cast<double>(value) - static_cast<double>(fit.left)) /
                              fit.scale_x);
  };
  const auto y = [&](float value) {
    return static_cast<float>((static_cast<double>(value) - static_cast<double>(fit.top)) /
                              fit.scale_y);
  };
  Detection moved = detection;
  moved.box = {x(detection.box.x1), y(detection.box.y1), x(detection.box.x2), y(detection.box.y2)};
  return moved;
}

}  // namespace

Result<TaskEvaluation> TaskEvaluation::open(const Options& options) {
  TaskEvaluation task;
  task.request_.task = tasks::parse_task(options.text("task"));
  if (options.text("head") != "auto") task.request_.head = options.text("head");
  if (options.is_given("score-threshold"))
    task.request_.threshold = options.number("score-threshold");
  task.label_offset_ = options.integer("label-offset");
  const std::string labels = options.text("labels");
  if (!to_lower(labels).ends_with(".json")) return task;
  EC_TRY(task.boxes_, tasks::detection::CocoLabels::read(labels));
  if (task.request_.task == tasks::Task::Unknown) task.request_.task = tasks::Task::Detection;
  return task;
}

void TaskEvaluation::start(JudgedNetwork model, std::optional<JudgedNetwork> reference,
                           std::vector<std::string> outputs) {
  model_.judged = std::move(model);
  if (reference) reference_.emplace().judged = std::move(*reference);
  tasks::Interface interface;
  interface.outputs = std::move(outputs);
  if (const auto form = image_of(reference_ ? reference_->judged : model_.judged)) {
    interface.batch = form->batch;
    interface.height = form->height;
    interface.width = form->width;
  }
  batch_ = interface.batch;
  scorer_.emplace(std::move(interface), request_);
}

Status TaskEvaluation::check_head() const {
  const tasks::detection::Head* head = scorer_->detection_head();
  if (head == nullptr)
    return Error(Code::Usage, fmt::format("labels of boxes are for detectors, and this is {}",
                                          tasks::task_name(scorer_->task())));
  if (!head->is_placed())
    return Error(Code::Usage, fmt::format("boxes of {} have no place in the picture: {}",
                                          head->name(), head->reason()))
        .hint("leave the labels out and compare with --reference MODEL");
  return {};
}

Status TaskEvaluation::add(const std::string& sample, const std::vector<RealOutput>& got,
                           const std::vector<RealOutput>& expected) {
  if (reference_)
    EC_CHECK_OK(scorer_->add(views_of(expected), views_of(got)));
  else
    EC_CHECK_OK(scorer_->recognise(views_of(got)));
  if (!boxes_) return {};
  EC_CHECK_OK(check_head());
  const tasks::detection::CocoPicture* picture = boxes_->find(sample);
  if (picture == nullptr) {
    if (unknown_++ == 0) an_unknown_ = sample;
    return {};
  }
  add_labelled(*picture, got, model_);
  if (reference_) add_labelled(*picture, expected, *reference_);
  return {};
}

void TaskEvaluation::add_labelled(const tasks::detection::CocoPicture& picture,
                                  const std::vector<RealOutput>& outputs,
                                  Detector& detector) const {
  const std::optional<quantize::ImageForm> form = image_of(detector.judged);
  if (!form) return;
  const tasks::detection::Head& head = *scorer_->detection_head();
  const auto labelled = [&](std::vector<Detection> all) {
    for (Detection& one : all)
      one.label = static_cast<int32_t>(
          boxes_->class_of(static_cast<size_t>(one.label), head.classes()) + label_offset_);
    return all;
  };
  const quantize::PictureFit fit = quantize::picture_fit(static_cast<int64_t>(picture.width),
                                                         static_cast<int64_t>(picture.height),
                                                         *form, detector.judged.preprocessing);
  const std::vector<tasks::Tensor> views = views_of(outputs);
  // A batch above one repeats the picture.
  const tasks::BatchItem first = tasks::batch_item(views, tasks::count_items(views, batch_), 0);
  std::vector<Detection> found;
  for (const Detection& one : tasks::detection::detect(head, first.outputs))
    found.push_back(in_picture(one, fit));
  detector.precision.add(labelled(picture.objects), found, labelled(picture.crowds));
}

Status TaskEvaluation::finish(EvaluateReport& report, DiagnosticSink& sink) const {
  if (!scorer_) return {};
  const tasks::TaskResult result = scorer_->result();
  report.task = task_summary(result);
  if (reference_)
    tasks::warn_of_few_answers(result, sink);
  else
    report.task.figures.clear();
  if (!boxes_) return {};
  report.unlabelled_pictures = static_cast<int64_t>(unknown_);
  if (report.unlabelled_pictures == report.samples)
    return Error(Code::BadCalibrationData, "the labels name none of the pictures")
        .file(report.box_labels)
        .note(fmt::format("a picture is '{}'", printable(an_unknown_)))
        .hint("file_name of an image has to be the end of a picture's path");
  fill_precision(model_, report.model);
  if (reference_) fill_precision(*reference_, *report.reference);
  return {};
}

void TaskEvaluation::fill_precision(const Detector& detector, EvaluatedModel& model) {
  const auto precision = detector.precision.mean_of_classes();
  if (!precision) return;
  model.map50 = precision->ap50;
  model.map50_95 = precision->ap50_95;
}

}  // namespace ec
