#include "tasks/task.h"

#include <iterator>

namespace ec::tasks {
namespace {

// In the order of Task.
constexpr std::string_view kNames[] = {"unknown",   "classification", "detection", "segmentation",
                                       "keypoints", "regression",     "sequence"};

}  // namespace

std::string_view task_name(Task task) { return kNames[static_cast<size_t>(task)]; }

Task parse_task(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Task>(i);
  return Task::Unknown;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

}  // namespace ec::tasks
