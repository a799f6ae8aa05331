// Outputs of broken networks: not finite, huge, of other shapes. No crash, no hang, no detection.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "outputs.h"
#include "tasks/task_scorer.h"

namespace ec::tasks {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Outputs of every kind of head and task, for a picture of 64x64.
std::vector<Outputs> all_kinds(float value) {
  std::vector<Outputs> all;
  const auto add = [&](std::initializer_list<std::vector<int64_t>> shapes) {
    Outputs outputs;
    for (const auto& shape : shapes) outputs.add(shape, "out", value);
    all.push_back(std::move(outputs));
  };
  add({{1, 9, 84}});
  add({{1, 84, 9}});
  add({{1, 252, 9}});
  add({{1, 300, 6}});
  add({{1, 9, 84}, {1, 4, 16, 16}});
  add({{1, 10, 4}, {1, 10}, {1, 10}, {1}});
  add({{1, 50, 4}, {1, 50, 3}});
  add({{1, 50, 16}, {1, 50, 1}});
  add({{1, 64, 5}, {1, 16, 5}, {1, 64, 32}, {1, 16, 32}});
  add({{1, 3, 16, 16}, {1, 2, 16, 16}, {1, 2, 16, 16}});
  add({{1, 5, 64, 64}});
  add({{1, 1, 64, 64}});
  add({{1, 17, 3}});
  add({{1, 12, 40}});
  add({{12, 1, 40}});
  add({{1, 10}});
  add({{1, 1}});
  add({{}});
  add({{0}});
  add({{1, 0, 6}});
  return all;
}

constexpr Task kTasks[] = {Task::Unknown,  Task::Detection,  Task::Segmentation,  Task::Keypoints,
                           Task::Sequence, Task::Regression, Task::Classification};

TEST(Hostile, ValuesThatAreNoNumbers) {
  for (const Task task : kTasks)
    for (const float first : {0.3f, kNan, kInf, -kInf, 1e38f})
      for (const float second : {0.3f, kNan, kInf, -kInf, 1e38f}) {
        const std::vector<Outputs> expected = all_kinds(first), got = all_kinds(second);
        for (size_t i = 0; i < expected.size(); ++i) {
          Request request;
          request.task = task;
          TaskScorer scorer(expected[i].interface(64, 64), request);
          const Status status = scorer.add(expected[i].tensors(), got[i].tensors());
          if (!status.ok()) {
            EXPECT_EQ(status.error().code(), Code::Usage);
            continue;
          }
          // Whatever comes out is a number from 0 to 1, or nothing.
          if (const std::optional<double> agreement = scorer.agreement()) {
            EXPECT_GE(*agreement, 0) << scorer.result().reason;
            EXPECT_LE(*agreement, 1) << scorer.result().reason;
          }
        }
      }
}

// A network whose every score is 1: 8,400 rows of 80 classes would be 672,000 boxes.
TEST(Hostile, EverythingIsDetected) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, 84, 8400}, "output0", 1);
  size_t cell = 0;
  for (const int stride : {8, 16, 32})
    for (int y = 0; y < 640 / stride; ++y)
      for (int x = 0; x < 640 / stride; ++x, ++cell)
        values[cell] = static_cast<float>(x * stride),
        values[8400 + cell] = static_cast<float>(y * stride);
  TaskScorer scorer(outputs.interface(640, 640), {});
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(scorer.add(outputs.tensors(), outputs.tensors()).ok());
  EXPECT_EQ(scorer.task(), Task::Detection);
  EXPECT_EQ(scorer.agreement(), 1.0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Hostile, ShapesThatDoNotFit) {
  Outputs outputs;
  outputs.add({1, 7, 84}, "y", 0.1f);
  const auto tensors = outputs.tensors();
  TaskScorer scorer(outputs.interface(64, 64), {});
  const auto code = [&](Tensors expected, Tensors got) {
    const Status status = scorer.add(expected, got);
    return status.ok() ? Code::Internal : status.error().code();
  };
  const std::vector<int64_t> lie = {1, 7, 85}, negative = {-1, -588};
  EXPECT_EQ(code(std::vector{Tensor{lie, tensors[0].values}}, tensors), Code::ShapeMismatch);
  EXPECT_EQ(code(tensors, std::vector{Tensor{lie, tensors[0].values}}), Code::ShapeMismatch);
  EXPECT_EQ(code(tensors, {}), Code::ShapeMismatch);
  EXPECT_EQ(code(tensors, std::vector{Tensor{negative, tensors[0].values}}), Code::ShapeMismatch);
}

// A detector's rows are cells of one grid: the next sample may not have others.
TEST(Hostile, DetectorsKeepTheirShape) {
  Outputs first, second;
  for (Outputs* outputs : {&first, &second})
    outputs->add({1, outputs == &first ? 84 : 21, 6}, "y", 0.1f);
  TaskScorer scorer(first.interface(64, 64), {});
  ASSERT_TRUE(scorer.add(first.tensors(), first.tensors()).ok());
  ASSERT_EQ(scorer.task(), Task::Detection);
  ASSERT_TRUE(scorer.add(second.tensors(), second.tensors()).ok());
  EXPECT_EQ(scorer.task(), Task::Unknown);
  Request request;
  request.task = Task::Detection;
  TaskScorer asked(first.interface(64, 64), request);
  ASSERT_TRUE(asked.add(first.tensors(), first.tensors()).ok());
  EXPECT_FALSE(asked.add(second.tensors(), second.tensors()).ok());
}

}  // namespace
}  // namespace ec::tasks
