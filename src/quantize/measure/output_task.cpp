#include "quantize/measure/output_task.h"

#include <algorithm>

namespace ec::quantize {
namespace {

// Outputs as floats; integers (numbers of classes, counts) are converted.
class RealViews {
 public:
  explicit RealViews(const std::vector<Value>& outputs) {
    converted_.reserve(outputs.size());
    for (const Value& output : outputs) {
      std::span<const float> values;
      if (output.dtype == DType::F32)
        values = output.as<float>();
      else if (output.dtype == DType::I64)
        values = convert(output.as<int64_t>());
      else if (output.dtype == DType::I32)
        values = convert(output.as<int32_t>());
      else
        complete_ = false;
      views_.push_back({output.shape, values});
    }
  }
  bool complete() const { return complete_; }
  tasks::Tensors get() const { return views_; }

 private:
  template <class T>
  std::span<const float> convert(std::span<const T> values) {
    std::vector<float>& reals = converted_.emplace_back();
    for (const T value : values) reals.push_back(static_cast<float>(value));
    return reals;
  }

  std::vector<std::vector<float>> converted_;
  std::vector<tasks::Tensor> views_;
  bool complete_ = true;
};

tasks::Interface interface_of(const Graph& graph, const Preprocessing& preprocessing) {
  tasks::Interface interface;
  interface.outputs = graph.output_names();
  for (const Tensor* input : graph.inputs()) {
    const Result<ImageForm> form = image_form({input->name(), input->type()}, preprocessing);
    if (!form) continue;
    interface.batch = form->batch;
    interface.height = form->height;
    interface.width = form->width;
    break;
  }
  return interface;
}

}  // namespace

OutputTask::OutputTask(tasks::Interface interface)
    : interface_(interface), scorer_(std::move(interface), {}) {}

std::shared_ptr<const OutputTask> OutputTask::recognise(
    const Graph& graph, const Preprocessing& preprocessing,
    std::span<const std::vector<Value>> outputs) {
  const tasks::Interface interface = interface_of(graph, preprocessing);
  for (const std::vector<Value>& sample : outputs) {
    const RealViews views(sample);
    std::shared_ptr<OutputTask> task(new OutputTask(interface));
    if (!views.complete() || !task->scorer_.recognise(views.get()).ok()) return nullptr;
    if (task->task() == tasks::Task::Unknown) continue;
    task->has_difference_ = task->scorer_.difference(views.get(), views.get()).has_value();
    return task;
  }
  return nullptr;
}

std::optional<tasks::Difference> OutputTask::difference(const std::vector<Value>& expected,
                                                        const std::vector<Value>& got) const {
  const RealViews a(expected), b(got);
  return a.complete() && b.complete() ? scorer_.difference(a.get(), b.get()) : std::nullopt;
}

OutputTask::Score::Score(std::shared_ptr<const OutputTask> task)
    : task_(std::move(task)),
      scorer_(std::make_unique<tasks::TaskScorer>(task_->interface_, tasks::Request{})) {}

void OutputTask::Score::add(const std::vector<Value>& expected, const std::vector<Value>& got) {
  if (scorer_ == nullptr) return;
  const RealViews a(expected), b(got);
  // What cannot be compared has no score.
  if (!a.complete() || !b.complete() || !scorer_->add(a.get(), b.get()).ok()) {
    scorer_.reset();
    return;
  }
  if (const auto difference = task_->scorer_.difference(a.get(), b.get())) {
    sum_.noise += difference->noise;
    sum_.signal += difference->signal;
  }
}

std::optional<double> OutputTask::Score::loss() const {
  if (scorer_ == nullptr || sum_.signal <= 0) return std::nullopt;
  return sum_.noise / sum_.signal;
}

std::optional<tasks::TaskResult> OutputTask::Score::result() const {
  if (scorer_ == nullptr || scorer_->task() == tasks::Task::Unknown) return std::nullopt;
  return scorer_->result();
}

}  // namespace ec::quantize
