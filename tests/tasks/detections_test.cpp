#include "tasks/detection/detections.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ec::tasks::detection {
namespace {

TEST(Boxes, Overlap) {
  const Box a{0, 0, 10, 10}, b{5, 0, 15, 10}, far{20, 20, 30, 30}, empty{5, 5, 5, 5};
  EXPECT_DOUBLE_EQ(iou(a, b), 50.0 / 150.0);
  EXPECT_DOUBLE_EQ(iou(a, a), 1.0);
  EXPECT_DOUBLE_EQ(iou(a, far), 0.0);
  EXPECT_DOUBLE_EQ(iou(a, empty), 0.0);
  EXPECT_DOUBLE_EQ(iou(empty, empty), 0.0);
  // Corners in the wrong order have no area.
  EXPECT_DOUBLE_EQ(area({10, 10, 0, 0}), 0.0);
}

// The overlap of two boxes stays when both are moved and scaled alike: why boxes of one anchor can
// be compared without knowing it.
TEST(Boxes, OverlapDoesNotDependOnTheAnchor) {
  const Box a = centred(0.1f, -0.2f, 1.1f, 0.9f), b = centred(0.0f, 0.1f, 0.8f, 1.2f);
  const auto at = [](const Box& box) {
    const float w = 37, h = 21, x = 150, y = 80;
    return Box{x + w * box.x1, y + h * box.y1, x + w * box.x2, y + h * box.y2};
  };
  EXPECT_NEAR(iou(a, b), iou(at(a), at(b)), 1e-6);
}

TEST(Suppression, KeepsTheBestOfEachClass) {
  // 1 overlaps 0 by 9/11 and goes; 2 is the same box of another class and stays; 3 overlaps 1,
  // which is gone, by 8/12, but 0 only by 7/13 = 0.54, which is still too much; 4 overlaps 0 by
  // 3/17.
  const std::vector<Detection> sorted = {{{0, 0, 10, 10}, 0.9f, 0, -1},
                                         {{1, 0, 11, 10}, 0.8f, 0, -1},
                                         {{0, 0, 10, 10}, 0.7f, 1, -1},
                                         {{3, 0, 13, 10}, 0.6f, 0, -1},
                                         {{7, 0, 17, 10}, 0.5f, 0, -1}};
  const std::vector<Detection> kept = suppress_overlapping(sorted, 0.45f);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].score, 0.9f);
  EXPECT_EQ(kept[1].label, 1);
  EXPECT_EQ(kept[2].score, 0.5f);
}

TEST(Suppression, BoundsItsWork) {
  Candidates candidates;
  for (int i = 0; i < 100'000; ++i) {
    const auto x = static_cast<float>(i) * 20;
    candidates.add({{x, 0, x + 10, 10}, static_cast<float>(i % 1000) / 1000, 0, -1});
  }
  const std::vector<Detection> sorted = candidates.take();
  EXPECT_EQ(sorted.size(), kMostCandidates);
  EXPECT_EQ(sorted.front().score, 0.999f);
  // The best were kept, whenever they came: 100 of each score.
  EXPECT_GE(sorted.back().score, 0.95f);
  EXPECT_EQ(suppress_overlapping(sorted, 0.45f).size(), kMostDetections);
}

TEST(Candidates, LeaveOutWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  Candidates candidates;
  candidates.add({{0, 0, 1, 1}, nan, 0, -1});
  candidates.add({{0, 0, 1, 1}, inf, 0, -1});
  candidates.add({{nan, 0, 1, 1}, 0.5f, 0, -1});
  candidates.add({{0, -inf, 1, 1}, 0.5f, 0, -1});
  EXPECT_TRUE(candidates.take().empty());
}

}  // namespace
}  // namespace ec::tasks::detection
