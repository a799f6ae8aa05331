// Every head on outputs made by hand: that it is recognised, and that its boxes are where the
// head's own formulas put them.
#include <gtest/gtest.h>

#include <cmath>

#include "outputs.h"
#include "tasks/detection/head.h"
#include "tasks/task_scorer.h"

namespace ec::tasks::detection {
namespace {

void expect_box(const Detection& got, const Box& box, float score, int32_t label,
                float tolerance = 1e-3f) {
  EXPECT_NEAR(got.box.x1, box.x1, tolerance);
  EXPECT_NEAR(got.box.y1, box.y1, tolerance);
  EXPECT_NEAR(got.box.x2, box.x2, tolerance);
  EXPECT_NEAR(got.box.y2, box.y2, tolerance);
  EXPECT_NEAR(got.score, score, 1e-5f);
  EXPECT_EQ(got.label, label);
}

// Cells of strides 8, 16 and 32 of a 64x64 picture: 64 + 16 + 4.
constexpr int64_t kSide = 64, kCells = 84;

// Calls put(cell, x, y, stride) for every cell.
template <class Put>
void for_each_cell(Put&& put) {
  size_t cell = 0;
  for (const int stride : {8, 16, 32})
    for (int y = 0; y < kSide / stride; ++y)
      for (int x = 0; x < kSide / stride; ++x) put(cell++, x, y, stride);
}

// Decoded boxes of two strides' size at every cell, all scores 0.001.
void fill_v8(std::vector<float>& values, size_t classes, float unit) {
  for_each_cell([&](size_t cell, int x, int y, int stride) {
    const auto s = static_cast<float>(stride);
    const float box[] = {(static_cast<float>(x) + 0.5f) * s, (static_cast<float>(y) + 0.5f) * s,
                         2 * s, 2 * s};
    for (size_t i = 0; i < 4; ++i) values[i * kCells + cell] = box[i] * unit;
    for (size_t i = 0; i < classes; ++i) values[(4 + i) * kCells + cell] = 0.001f;
  });
}

// The halves of such an output, as --split-outputs gives them.
TEST(Heads, BoxesAndScoresInColumns) {
  Outputs whole, halves;
  std::vector<float>& values = whole.add({1, 4 + 3, kCells}, "output0");
  fill_v8(values, 3, 1.0f);
  values[(4 + 2) * kCells + 9] = 0.8f;
  std::vector<float>& boxes = halves.add({1, 4, kCells}, "output0_values");
  std::vector<float>& scores = halves.add({1, 3, kCells}, "output0_scores");
  std::copy(values.begin(), values.begin() + 4 * kCells, boxes.begin());
  std::copy(values.begin() + 4 * kCells, values.end(), scores.begin());
  const auto tensors = halves.tensors();
  const HeadPtr head = recognise_head(halves.interface(kSide, kSide), tensors, "");
  ASSERT_NE(head, nullptr);
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  expect_box(found[0], {4, 4, 20, 20}, 0.8f, 2);
}

TEST(Heads, YoloV8InPixelsAndFractions) {
  for (const float unit : {1.0f, 1.0f / kSide}) {
    Outputs outputs;
    std::vector<float>& values = outputs.add({1, 4 + 3, kCells}, "output0");
    fill_v8(values, 3, unit);
    // Cell 9 is x 1, y 1 of stride 8.
    values[(4 + 2) * kCells + 9] = 0.8f;
    values[(4 + 0) * kCells + 70] = 0.1f;
    const auto tensors = outputs.tensors();
    const HeadPtr head = recognise_head(outputs.interface(kSide, kSide), tensors, "");
    ASSERT_NE(head, nullptr);
    EXPECT_EQ(head->name(), "YOLOv8 (v8, v9, v11)") << head->reason();
    EXPECT_EQ(head->classes(), 3);
    const std::vector<Detection> found = detect(*head, tensors);
    ASSERT_EQ(found.size(), 2u);
    expect_box(found[0], {4, 4, 20, 20}, 0.8f, 2);
    // Cell 70 is cell 6 of stride 16: x 2, y 1.
    expect_box(found[1], {24, 8, 56, 40}, 0.1f, 0);
  }
}

TEST(Heads, YoloV8WithMasks) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, 4 + 3 + 32, kCells}, "output0");
  fill_v8(values, 3, 1);
  for (size_t i = 7 * kCells; i < values.size(); ++i) values[i] = 0.5f;
  outputs.add({1, 32, 16, 16}, "proto");
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(kSide, kSide), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->classes(), 3);
  EXPECT_NE(head->reason().find("32 columns behind them are not judged"), std::string::npos);
}

TEST(Heads, YoloV5HasObjectness) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, 3 * kCells, 5 + 2}, "output");
  for (size_t row = 0; row < 3 * kCells; ++row) {
    const float cells[] = {32, 32, 10, 20, 0.001f, 0.5f, 0.5f};
    std::copy(std::begin(cells), std::end(cells), values.begin() + static_cast<long>(7 * row));
  }
  values[7 * 100 + 4] = 0.9f;
  values[7 * 100 + 6] = 0.8f;
  values[7 * 100 + 5] = 0.01f;
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(kSide, kSide), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "YOLOv5 (v5, v7)") << head->reason();
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  expect_box(found[0], {27, 22, 37, 42}, 0.72f, 1);
}

TEST(Heads, YoloxIsDecodedFromItsGrid) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, kCells, 6}, "output");
  for (size_t row = 0; row < kCells; ++row) {
    // Offsets that do not follow the grid; one class that is sure everywhere.
    const float cells[] = {0.3f + 0.1f * static_cast<float>(row % 3), 0.5f, 0.2f, 0.1f, 0, 0.7f};
    std::copy(std::begin(cells), std::end(cells), values.begin() + static_cast<long>(6 * row));
  }
  // Cell 82 is cell 2 of stride 32: x 0, y 1.
  const float cells[] = {0.25f, 0.5f, std::log(1.5f), std::log(0.5f), 0.5f, 0.8f};
  std::copy(std::begin(cells), std::end(cells), values.begin() + 6 * 82);
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(kSide, kSide), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "YOLOX") << head->reason();
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  // Centre (8, 48), 48 wide, 16 high.
  expect_box(found[0], {-16, 40, 32, 56}, 0.4f, 0);
}

TEST(Heads, EndToEndNeedsNoSuppression) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, 300, 6}, "output0");
  const float rows[] = {10, 20, 30, 60, 0.9f, 5, 11, 20, 31, 60, 0.8f, 5};
  std::copy(std::begin(rows), std::end(rows), values.begin());
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(kSide, kSide), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "YOLO end to end (v10, v26)");
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 2u);
  expect_box(found[0], {10, 20, 30, 60}, 0.9f, 5);
}

TEST(Heads, SsdPostprocessInAnyOrder) {
  for (const bool swapped : {false, true}) {
    Outputs outputs;
    const auto fill = [&](size_t role) {
      if (role == 0) outputs.add({1, 3, 4}, "a") = {0.1f, 0.2f, 0.5f, 0.6f, 0, 0, 1, 1, 0, 0, 1, 1};
      if (role == 1) outputs.add({1, 3}, "b") = {7, 2, 1};
      if (role == 2) outputs.add({1, 3}, "c") = {0.75f, 0.5f, 0.3f};
      if (role == 3) outputs.add({1}, "d") = {2};
    };
    if (swapped)
      for (const size_t role : {2, 0, 3, 1}) fill(role);
    else
      for (const size_t role : {0, 1, 2, 3}) fill(role);
    const auto tensors = outputs.tensors();
    const HeadPtr head = recognise_head(outputs.interface(200, 100), tensors, "");
    ASSERT_NE(head, nullptr);
    EXPECT_EQ(head->name(), "SSD with TFLite_Detection_PostProcess");
    const std::vector<Detection> found = detect(*head, tensors);
    ASSERT_EQ(found.size(), 2u);  // the third is beyond the count
    expect_box(found[0], {20, 20, 60, 100}, 0.75f, 7);
  }
}

TEST(Heads, SsdRawIsComparedByAnchor) {
  Outputs outputs;
  std::vector<float>& boxes = outputs.add({1, 50, 4}, "raw_boxes");
  std::vector<float>& scores = outputs.add({1, 50, 3}, "raw_scores", -5);
  for (size_t i = 0; i < boxes.size(); ++i) boxes[i] = i % 2 == 0 ? -0.7f : 0.4f;
  scores[3 * 20 + 1] = 2;
  scores[3 * 21 + 1] = 1;
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(300, 300), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "SSD, by anchor") << head->reason();
  EXPECT_FALSE(head->is_placed());
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].anchor, 20);
  // centre (-0.07, 0.04), size (exp(-0.14), exp(0.08))
  expect_box(found[0], centred(-0.07f, 0.04f, std::exp(-0.14f), std::exp(0.08f)),
             1 / (1 + std::exp(-2.0f)), 1);
}

TEST(Heads, SoftmaxWithABackground) {
  Outputs outputs;
  std::vector<float>& logits = outputs.add({1, 10, 4}, "logits");
  std::vector<float>& boxes = outputs.add({1, 10, 4}, "pred_boxes");
  for (size_t q = 0; q < 10; ++q) {
    const float row[] = {-1, -1, -1, 6};
    std::copy(std::begin(row), std::end(row), logits.begin() + static_cast<long>(4 * q));
    const float box[] = {0.5f, 0.5f, 0.2f, 0.3f};
    std::copy(std::begin(box), std::end(box), boxes.begin() + static_cast<long>(4 * q));
  }
  // Query 3: class 1 with probability e^2 / (e^2 + 2 + 1/e).
  const float row[] = {0, 2, 0, -1};
  std::copy(std::begin(row), std::end(row), logits.begin() + 12);
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(100, 200), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "DETR") << head->reason();
  EXPECT_EQ(head->classes(), 3);
  const std::vector<Detection> found = detect(*head, tensors, 0.25f);
  ASSERT_EQ(found.size(), 1u);
  const auto e = [](float x) { return std::exp(x); };
  expect_box(found[0], {80, 35, 120, 65}, e(2) / (e(2) + 2 + e(-1)), 1);
}

TEST(Heads, DetrWithSigmoids) {
  Outputs outputs;
  std::vector<float>& logits = outputs.add({1, 10, 3}, "logits", -4);
  std::vector<float>& boxes = outputs.add({1, 10, 4}, "boxes", 0.25f);
  for (size_t q = 0; q < 10; ++q) boxes[4 * q] = 0.5f;
  logits[3 * 4 + 2] = 1;
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(100, 100), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "DETR") << head->reason();
  EXPECT_FALSE(head->needs_suppression());
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  expect_box(found[0], {37.5f, 12.5f, 62.5f, 37.5f}, 1 / (1 + std::exp(-1.0f)), 2);
}

TEST(Heads, DecodedCornersWithABackground) {
  Outputs outputs;
  std::vector<float>& scores = outputs.add({1, 3000, 2}, "scores");
  std::vector<float>& boxes = outputs.add({1, 3000, 4}, "boxes");
  for (size_t i = 0; i < 3000; ++i) {
    scores[2 * i] = 0.99f, scores[2 * i + 1] = 0.01f;
    boxes[4 * i] = 0.1f, boxes[4 * i + 1] = 0.2f, boxes[4 * i + 2] = 0.3f, boxes[4 * i + 3] = 0.5f;
  }
  scores[2 * 7] = 0.2f, scores[2 * 7 + 1] = 0.8f;
  scores[2 * 8] = 0.3f, scores[2 * 8 + 1] = 0.7f;
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(240, 320), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "SSD, decoded") << head->reason();
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);  // the second is the same box
  expect_box(found[0], {32, 48, 96, 120}, 0.8f, 0);
}

TEST(Heads, PicoDet) {
  Outputs outputs;
  // Strides 8, 16, 32 and 64 of a 64x96 picture: 96, 24, 6 and 2 cells.
  for (const int64_t cells : {96, 24, 6, 2}) outputs.add({1, cells, 5}, "scores", 0.001f);
  for (const int64_t cells : {96, 24, 6, 2}) outputs.add({1, cells, 32}, "distances", -9);
  outputs[1][5 * 13 + 3] = 0.6f;  // stride 16, cell 13: x 1, y 2
  // Left: sure to be 2. Top: half 1, half 2. Right: 0. Bottom: 7.
  float* row = &outputs[5][32 * 13];
  row[2] = 90, row[8 + 1] = 90, row[8 + 2] = 90, row[16] = 90, row[24 + 7] = 90;
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(64, 96), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "PicoDet") << head->reason();
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  // Centre (24, 40).
  expect_box(found[0], {24 - 32, 40 - 24, 24, 40 + 112}, 0.6f, 3);
}

// Sizes as logarithms, rows before columns, landmarks beside them.
TEST(Heads, CenterFace) {
  Outputs outputs;
  std::vector<float>& centres = outputs.add({1, 1, 16, 24}, "537", 0.01f);
  std::vector<float>& sizes = outputs.add({1, 2, 16, 24}, "538", 0.1f);
  outputs.add({1, 2, 16, 24}, "539", 0.0f);
  outputs.add({1, 10, 16, 24}, "540", -2.0f);
  const size_t cell = 5 * 24 + 7;
  centres[cell] = 0.9f;
  sizes[cell] = std::log(6.0f), sizes[16 * 24 + cell] = std::log(4.0f);
  const auto tensors = outputs.tensors();
  const HeadPtr head = recognise_head(outputs.interface(64, 96), tensors, "");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->name(), "CenterFace");
  const std::vector<Detection> found = detect(*head, tensors);
  ASSERT_EQ(found.size(), 1u);
  expect_box(found[0], {20, 8, 36, 32}, 0.9f, 0);
}

// As the first network of MTCNN has them: corners that are moved, scores of two classes.
TEST(Heads, MapsOfBoxesAndScores) {
  for (const bool last : {false, true}) {
    Outputs outputs;
    const auto shape = [&](int64_t channels) {
      return last ? std::vector<int64_t>{1, 6, 9, channels}
                  : std::vector<int64_t>{1, channels, 6, 9};
    };
    const auto index = [&](size_t channels, size_t c, size_t cell) {
      return last ? cell * channels + c : c * 54 + cell;
    };
    std::vector<float>& boxes = outputs.add(shape(4), "conv", -0.1f);
    std::vector<float>& scores = outputs.add(shape(2), "softmax", 0.0f);
    for (size_t cell = 0; cell < 54; ++cell) scores[index(2, 0, cell)] = 1;
    scores[index(2, 0, 20)] = 0.3f, scores[index(2, 1, 20)] = 0.7f;
    boxes[index(4, 2, 20)] = 0.2f;
    const auto tensors = outputs.tensors();
    const HeadPtr head = recognise_head(outputs.interface(24, 30), tensors, "");
    ASSERT_NE(head, nullptr);
    EXPECT_FALSE(head->is_placed());
    EXPECT_EQ(head->classes(), 1);
    const std::vector<Detection> found = detect(*head, tensors);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].anchor, 20);
    expect_box(found[0], {-0.1f, -0.1f, 1.2f, 0.9f}, 0.7f, 0);
  }
}

TEST(Heads, CenterNetChannelsFirstAndLast) {
  for (const bool last : {false, true}) {
    Outputs outputs;
    const auto shape = [&](int64_t channels) {
      return last ? std::vector<int64_t>{1, 16, 24, channels}
                  : std::vector<int64_t>{1, channels, 16, 24};
    };
    const auto index = [&](size_t channels, size_t c, size_t y, size_t x) {
      return last ? (y * 24 + x) * channels + c : (c * 16 + y) * 24 + x;
    };
    std::vector<float>& centres = outputs.add(shape(3), "hm", 0.01f);
    std::vector<float>& sizes = outputs.add(shape(2), "wh", 1);
    std::vector<float>& offsets = outputs.add(shape(2), "reg", 0.5f);
    centres[index(3, 1, 5, 7)] = 0.9f;
    centres[index(3, 1, 5, 8)] = 0.6f;  // no peak
    centres[index(3, 2, 5, 8)] = 0.4f;  // a peak of another class
    sizes[index(2, 0, 5, 7)] = 4, sizes[index(2, 1, 5, 7)] = 6;
    offsets[index(2, 0, 5, 7)] = 0.25f;
    const auto tensors = outputs.tensors();
    const HeadPtr head = recognise_head(outputs.interface(64, 96), tensors, "");
    ASSERT_NE(head, nullptr);
    EXPECT_EQ(head->name(), "CenterNet");
    const std::vector<Detection> found = detect(*head, tensors);
    ASSERT_EQ(found.size(), 2u);
    // Centre (7.25, 5.5) and size (4, 6) in cells of 4 pixels.
    expect_box(found[0], {21, 10, 37, 34}, 0.9f, 1);
    EXPECT_EQ(found[1].label, 2);
  }
}

TEST(Heads, WhatIsNoDetectorIsNotTakenForOne) {
  const auto head_of = [](std::vector<int64_t> shape, float value) {
    Outputs outputs;
    outputs.add(std::move(shape), "y", value);
    return recognise_head(outputs.interface(224, 224), outputs.tensors(), "");
  };
  EXPECT_EQ(head_of({1, 1000}, 0.001f), nullptr);
  EXPECT_EQ(head_of({1, 40, 6625}, 0.0001f), nullptr);
  EXPECT_EQ(head_of({1, 21, 224, 224}, 0.1f), nullptr);
  EXPECT_EQ(head_of({1, 197, 768}, -0.3f), nullptr);
  EXPECT_EQ(head_of({1, 17, 3}, 0.5f), nullptr);
}

// The whole way: average precision of a changed network, by hand.
TEST(DetectionTask, AveragePrecisionOfAChangedNetwork) {
  Outputs original, changed;
  for (Outputs* outputs : {&original, &changed})
    fill_v8(outputs->add({1, 4 + 2, kCells}, "output0"), 2, 1);
  // Cells 0, 27 and 63 are far apart. The changed network loses the last below 0.05 and sees one
  // more, with a score between the two it keeps.
  const auto score = [](Outputs& outputs, size_t cell, float value) {
    outputs[0][4 * kCells + cell] = value;
  };
  score(original, 0, 0.9f), score(original, 27, 0.6f), score(original, 63, 0.3f);
  score(original, 7, 0.2f);  // no detection: below 0.25
  score(changed, 0, 0.8f), score(changed, 27, 0.5f), score(changed, 63, 0.04f),
      score(changed, 7, 0.7f);
  TaskScorer scorer(original.interface(kSide, kSide), {});
  EXPECT_FALSE(scorer.agreement());
  ASSERT_TRUE(scorer.add(original.tensors(), changed.tensors()).ok());
  const TaskResult result = scorer.result();
  EXPECT_EQ(result.task, Task::Detection);
  // Precision 1 up to recall 1/3 (34 points), 2/3 up to 2/3 (33 points), then nothing.
  EXPECT_NEAR(*result.agreement, (34 + 33 * 2.0 / 3) / 101, 1e-9);
  EXPECT_EQ(result.figures[0].name, "ap50");
  EXPECT_EQ(result.figures[4].value, 3);
  EXPECT_EQ(result.figures[5].value, 3);
  // The same network agrees with itself, also with detections below the threshold.
  TaskScorer same(original.interface(kSide, kSide), {});
  ASSERT_TRUE(same.add(original.tensors(), original.tensors()).ok());
  EXPECT_EQ(same.agreement(), 1.0);
}

TEST(DetectionTask, HeadAndThresholdByHand) {
  Outputs outputs;
  std::vector<float>& values = outputs.add({1, 30, 7}, "y", 0.4f);
  values[4] = 0.9f;
  Request request;
  TaskScorer automatic(outputs.interface(), request);
  ASSERT_TRUE(automatic.add(outputs.tensors(), outputs.tensors()).ok());
  EXPECT_NE(automatic.task(), Task::Detection);
  request.head = "yolov5";
  request.threshold = 0.1;
  TaskScorer forced(outputs.interface(), request);
  ASSERT_TRUE(forced.add(outputs.tensors(), outputs.tensors()).ok());
  EXPECT_EQ(forced.task(), Task::Detection);
  EXPECT_EQ(forced.agreement(), 1.0);
  request.head = "centernet";
  TaskScorer wrong(outputs.interface(), request);
  const Status status = wrong.add(outputs.tensors(), outputs.tensors());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::Usage);
}

}  // namespace
}  // namespace ec::tasks::detection
