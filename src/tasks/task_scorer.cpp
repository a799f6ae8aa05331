#include "tasks/task_scorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/strings.h"
#include "tasks/batch.h"
#include "tasks/detection/detection_measure.h"
#include "tasks/keypoints/keypoints_measure.h"
#include "tasks/regression/regression_measure.h"
#include "tasks/segmentation/segmentation_measure.h"
#include "tasks/sequence/sequence_measure.h"

namespace ec::tasks {
namespace {

// One answer more or less is then 5 % of all.
constexpr int64_t kFewAnswers = 20;

// One list of scores for each sample.
std::optional<Recognised> recognise_classification(const Interface& interface, Tensors outputs,
                                                   const Request&) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto sizes = outputs[i].shape.subspan(std::min<size_t>(1, outputs[i].rank()));
    const auto large = std::count_if(sizes.begin(), sizes.end(), [](int64_t s) { return s > 1; });
    if (large != 1) continue;
    return Recognised{Task::Classification, "",
                      fmt::format("output '{}' {}: one list of scores", interface.outputs[i],
                                  shape_text(outputs[i].shape)),
                      nullptr};
  }
  return std::nullopt;
}

struct TaskKind {
  Task task;
  std::optional<Recognised> (*recognise)(const Interface&, Tensors, const Request&);
};

// The order counts: what is harder to mistake comes first.
constexpr TaskKind kKinds[] = {
    {Task::Detection, detection::recognise},
    {Task::Keypoints, keypoints::recognise},
    {Task::Sequence, sequence::recognise},
    {Task::Segmentation, segmentation::recognise},
    {Task::Classification, recognise_classification},
    {Task::Regression, regression::recognise},
};

std::string outputs_text(const Interface& interface, Tensors outputs) {
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i)
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", printable(interface.outputs[i]),
                        shape_text(outputs[i].shape));
  return text;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end());
}

}  // namespace

TaskScorer::TaskScorer(Interface interface, Request request)
    : interface_(std::move(interface)), request_(std::move(request)) {
  if (!request_.head.empty()) request_.task = Task::Detection;
}

Status TaskScorer::recognise(Tensors outputs) {
  EC_CHECK_OK(check(outputs));
  if (recognised_) return {};
  recognised_ = true;
  for (const Tensor& output : outputs)
    shapes_.emplace_back(output.shape.begin(), output.shape.end());
  const BatchItem one = batch_item(outputs, count_items(outputs, interface_.batch), 0);
  for (const TaskKind& kind : kKinds) {
    if (request_.task != Task::Unknown && request_.task != kind.task) continue;
    std::optional<Recognised> found = kind.recognise(interface_, one.outputs, request_);
    if (!found) continue;
    found_ = std::move(*found);
    return {};
  }
  if (request_.task != Task::Unknown)
    return Error(Code::Usage,
                 fmt::format("the outputs are not those of {}{}: {}", task_name(request_.task),
                             request_.head.empty() ? "" : " with head " + request_.head,
                             outputs_text(interface_, outputs)))
        .hint("leave --task and --head out, or choose others");
  found_.reason = "no task fits the outputs " + outputs_text(interface_, outputs);
  return {};
}

Status TaskScorer::check(Tensors outputs) const {
  if (outputs.size() != interface_.outputs.size() || outputs.empty())
    return Error(Code::ShapeMismatch, fmt::format("{} outputs where {} are expected",
                                                  outputs.size(), interface_.outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    // As unsigned: a negative size is no product of any number of elements.
    size_t count = 1;
    for (const int64_t size : outputs[i].shape) count *= static_cast<size_t>(size);
    if (count != outputs[i].values.size())
      return Error(
          Code::ShapeMismatch,
          fmt::format("output '{}' of shape {} has {} elements", printable(interface_.outputs[i]),
                      shape_text(outputs[i].shape), outputs[i].values.size()));
  }
  return {};
}

// Rows of a detector belong to cells or anchors: the head serves no other shapes.
bool TaskScorer::keeps_shapes(Tensors outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!std::equal(shapes_[i].begin(), shapes_[i].end(), outputs[i].shape.begin(),
                    outputs[i].shape.end()))
      return false;
  return true;
}

Status TaskScorer::add(Tensors expected, Tensors got) {
  EC_CHECK_OK(recognise(expected));
  EC_CHECK_OK(check(got));
  for (size_t i = 0; i < got.size(); ++i)
    if (!same_shape(expected[i], got[i]))
      return Error(
          Code::ShapeMismatch,
          fmt::format("output '{}' is {}, the original's {}", printable(interface_.outputs[i]),
                      shape_text(got[i].shape), shape_text(expected[i].shape)));
  if (found_.measure == nullptr) return {};
  if (found_.task == Task::Detection && !keeps_shapes(expected)) {
    const std::string text = "the shapes of a detector's outputs change from sample to sample";
    if (request_.task == Task::Detection) return Error(Code::ShapeMismatch, text);
    found_ = {Task::Unknown, {}, text, nullptr};
    return {};
  }
  const size_t items = count_items(expected, interface_.batch);
  for (size_t i = 0; i < items; ++i)
    found_.measure->add(batch_item(expected, items, i).outputs, batch_item(got, items, i).outputs);
  return {};
}

TaskResult TaskScorer::result() const {
  TaskResult result{found_.task, found_.head, found_.reason, {}, agreement(), {}};
  if (found_.measure == nullptr) return result;
  result.figures = found_.measure->figures();
  result.answers = found_.measure->answers();
  return result;
}

std::optional<double> TaskScorer::agreement() const {
  return found_.measure != nullptr ? found_.measure->agreement() : std::nullopt;
}

std::optional<Difference> TaskScorer::difference(Tensors expected, Tensors got) const {
  if (found_.measure == nullptr || !check(expected).ok() || !check(got).ok() ||
      !keeps_shapes(expected) || !keeps_shapes(got))
    return std::nullopt;
  const size_t items = count_items(expected, interface_.batch);
  Difference sum;
  for (size_t i = 0; i < items; ++i) {
    const auto one = found_.measure->difference(batch_item(expected, items, i).outputs,
                                                batch_item(got, items, i).outputs);
    if (!one) return std::nullopt;
    sum.noise += one->noise;
    sum.signal += one->signal;
  }
  return sum;
}

const detection::Head* TaskScorer::detection_head() const {
  return found_.measure != nullptr ? found_.measure->head() : nullptr;
}

void warn_of_few_answers(const TaskResult& result, DiagnosticSink& sink) {
  if (!result.answers || *result.answers >= kFewAnswers) return;
  const int64_t count = *result.answers;
  sink.warn(Code::DoubtfulCalibration,
            fmt::format("{}: the samples that judge hold {} answer{} of the original network, so "
                        "that its agreement says little",
                        task_name(result.task), count == 0 ? "no" : std::to_string(count),
                        count == 1 ? "" : "s"),
            {}, "give more samples that show what the network looks for");
}

}  // namespace ec::tasks
