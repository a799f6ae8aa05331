// Scores a changed network against the answers of the original one, sample by sample. The task is
// recognised at the first sample of the original network.
#pragma once

#include <memory>

#include "support/diagnostic.h"
#include "support/result.h"
#include "tasks/task.h"

namespace ec::tasks {

namespace detection {
class Head;
}

// How outputs of one task are compared.
class Measure {
 public:
  virtual ~Measure() = default;
  // Outputs of one sample, of the same shapes.
  virtual void add(Tensors expected, Tensors got) = 0;
  virtual std::vector<Figure> figures() const = 0;
  virtual std::optional<double> agreement() const = 0;
  // How many answers of the original network the agreement was counted on; empty where it is no
  // count of single answers.
  virtual std::optional<int64_t> answers() const { return std::nullopt; }
  // Of one sample; empty where the task has no such sums.
  virtual std::optional<Difference> difference(Tensors, Tensors) const { return std::nullopt; }
  // Of detectors; else null.
  virtual const detection::Head* head() const { return nullptr; }
};

// What a recogniser found.
struct Recognised {
  Task task = Task::Unknown;
  std::string head, reason;
  std::unique_ptr<Measure> measure;  // null for classification, which is scored elsewhere
};

class TaskScorer {
 public:
  TaskScorer(Interface interface, Request request);

  // Recognises the task by outputs of the original network, unless that is done. Usage: the outputs
  // are not what the request says they are.
  Status recognise(Tensors outputs);
  // Adds a sample: outputs of the original and of the changed network, in the order of the
  // interface. ShapeMismatch: they differ in shape, or are not as many as the interface has.
  Status add(Tensors expected, Tensors got);

  // Unknown before the first sample, and where nothing fits.
  Task task() const { return found_.task; }
  TaskResult result() const;
  // 0 to 1, where 1 means the same answers. Empty: nothing could be compared.
  std::optional<double> agreement() const;
  // Of one sample, for a task that was recognised; adds nothing. Empty where the task has no such
  // sums, or the shapes are others.
  std::optional<Difference> difference(Tensors expected, Tensors got) const;
  // How boxes are read, where the task is detection; else null.
  const detection::Head* detection_head() const;

 private:
  Status check(Tensors outputs) const;
  bool keeps_shapes(Tensors outputs) const;

  Interface interface_;
  Request request_;
  bool recognised_ = false;
  std::vector<std::vector<int64_t>> shapes_;  // at the first sample
  Recognised found_;
};

// A figure that a handful of answers decides says little about other data: DoubtfulCalibration.
void warn_of_few_answers(const TaskResult& result, DiagnosticSink& sink);

}  // namespace ec::tasks
