// What the outputs of a network mean to its user. Shapes, names and floats alone: no graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec::tasks {

enum class Task : uint8_t {
  Unknown,  // nothing fits; in a request: to be found out
  Classification,
  Detection,
  Segmentation,
  Keypoints,
  Regression,
  Sequence,
};
std::string_view task_name(Task task);
// Unknown for "auto" and for what is no task.
Task parse_task(std::string_view name);

// One output of one run.
struct Tensor {
  std::span<const int64_t> shape;
  std::span<const float> values;

  size_t rank() const { return shape.size(); }
};
using Tensors = std::span<const Tensor>;
std::string shape_text(std::span<const int64_t> shape);

// What is known of a network without running it.
struct Interface {
  std::vector<std::string> outputs;  // names
  int64_t batch = 1;
  int64_t height = 0, width = 0;  // of the image at the input; 0: unknown
};

// What the user asks for.
struct Request {
  Task task = Task::Unknown;        // Unknown: by the outputs
  std::string head;                 // of a detector; empty: by the outputs
  std::optional<double> threshold;  // of what counts as detected or as part of a mask
};

// One number of a result. `name` is its key in JSON, `text` what people read.
struct Figure {
  std::string name, text;
  double value = 0;
  bool count = false;  // a whole number
};

// How far the answers of two networks are apart, as sums that add up over samples. It changes with
// every rounding, where figures such as average precision jump from one answer to the next.
struct Difference {
  double noise = 0, signal = 0;
};

struct TaskResult {
  Task task = Task::Unknown;
  std::string head;    // "YOLOv8"; empty where the task has one form
  std::string reason;  // why it was taken for that, or why nothing fits
  std::vector<Figure> figures;
  std::optional<double> agreement;  // empty where nothing could be compared
  std::optional<int64_t> answers;   // that it was counted on, where single answers are counted
};

}  // namespace ec::tasks
