// Detections, their overlap, and the suppression of those that overlap a better one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ec::tasks::detection {

// A changed network's detections count from here up: lower ones never reach a user, and the low end
// of a precision curve would be noise.
inline constexpr float kLeastScore = 0.05f;
// What the original network detects, unless a threshold is given.
inline constexpr float kReferenceScore = 0.25f;
inline constexpr float kNmsOverlap = 0.45f;
// Bounds of the work on one sample.
inline constexpr size_t kMostCandidates = 4096;
inline constexpr size_t kMostDetections = 300;

struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // in pixels of the network's input where sizes are known
};
Box centred(float cx, float cy, float width, float height);
double area(const Box& box);
double intersection(const Box& a, const Box& b);
double iou(const Box& a, const Box& b);

struct Detection {
  Box box;
  float score = 0;
  int32_t label = 0;
  // Where the box is known relative to its anchor only: the anchor. Boxes of different anchors
  // cannot be compared.
  int32_t anchor = -1;
  // Which cell, anchor or query gives it: the same in every network with this head. -1: rows are
  // sorted, so that their number says nothing.
  int32_t row = -1;
};

// Collects candidates, of which only the best are kept. What is not finite is left out.
class Candidates {
 public:
  void add(const Detection& detection);
  // By falling score; equal ones in the order they came in.
  std::vector<Detection> take();

 private:
  void keep_best();

  std::vector<Detection> all_;
};

// The best first; whatever overlaps a better one of its class by more than `overlap` is left out.
// `sorted` is by falling score.
std::vector<Detection> suppress_overlapping(std::span<const Detection> sorted, float overlap);

}  // namespace ec::tasks::detection
