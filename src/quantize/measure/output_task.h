// What a network's outputs mean to its user, as far as the quantiser needs to know: recognised by
// outputs of the float network, then asked what a change costs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"
#include "quantize/calibration/preprocess.h"
#include "tasks/task_scorer.h"

namespace ec::quantize {

class OutputTask {
 public:
  // `outputs` are those of the float graph for some samples. Null where no task fits them.
  static std::shared_ptr<const OutputTask> recognise(const Graph& graph,
                                                     const Preprocessing& preprocessing,
                                                     std::span<const std::vector<Value>> outputs);

  tasks::Task task() const { return scorer_.task(); }
  // Whether difference() has answers: the sums by which trials are judged.
  bool has_difference() const { return has_difference_; }
  // Of one sample. Empty: the outputs are not of the recognised shapes.
  std::optional<tasks::Difference> difference(const std::vector<Value>& expected,
                                              const std::vector<Value>& got) const;

  // Counts answers over samples, from nothing on.
  class Score {
   public:
    Score() = default;
    explicit Score(std::shared_ptr<const OutputTask> task);
    void add(const std::vector<Value>& expected, const std::vector<Value>& got);
    // Empty where nothing was added, or nothing could be compared.
    std::optional<tasks::TaskResult> result() const;
    // What the sums of the task lose, as a share; empty where it has none.
    std::optional<double> loss() const;

   private:
    std::shared_ptr<const OutputTask> task_;
    tasks::Difference sum_;
    std::unique_ptr<tasks::TaskScorer> scorer_;
  };

 private:
  explicit OutputTask(tasks::Interface interface);

  tasks::Interface interface_;
  tasks::TaskScorer scorer_;
  bool has_difference_ = false;
};

}  // namespace ec::quantize
