#include "tasks/detection/detections.h"

#include <algorithm>
#include <cmath>

namespace ec::tasks::detection {
namespace {

bool better(const Detection& a, const Detection& b) { return a.score > b.score; }

}  // namespace

Box centred(float cx, float cy, float width, float height) {
  return {cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2};
}

double area(const Box& box) {
  const double width = static_cast<double>(box.x2) - box.x1;
  const double height = static_cast<double>(box.y2) - box.y1;
  return width > 0 && height > 0 ? width * height : 0;
}

double intersection(const Box& a, const Box& b) {
  const double width =
      static_cast<double>(std::min(a.x2, b.x2)) - static_cast<double>(std::max(a.x1, b.x1));
  const double height =
      static_cast<double>(std::min(a.y2, b.y2)) - static_cast<double>(std::max(a.y1, b.y1));
  return width > 0 && height > 0 ? width * height : 0;
}

double iou(const Box& a, const Box& b) {
  const double common = intersection(a, b);
  const double all = area(a) + area(b) - common;
  return all > 0 ? common / all : 0;
}

void Candidates::add(const Detection& detection) {
  const Box& box = detection.box;
  for (const float value : {box.x1, box.y1, box.x2, box.y2, detection.score})
    if (!std::isfinite(value)) return;
  all_.push_back(detection);
  if (all_.size() >= 2 * kMostCandidates) keep_best();
}

void Candidates::keep_best() {
  std::stable_sort(all_.begin(), all_.end(), better);
  if (all_.size() > kMostCandidates) all_.resize(kMostCandidates);
}

std::vector<Detection> Candidates::take() {
  keep_best();
  return std::move(all_);
}

std::vector<Detection> suppress_overlapping(std::span<const Detection> sorted, float overlap) {
  std::vector<Detection> kept;
  for (const Detection& candidate : sorted) {
    if (kept.size() == kMostDetections) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Detection& other) {
      return other.label == candidate.label && other.anchor == candidate.anchor &&
             iou(other.box, candidate.box) > static_cast<double>(overlap);
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace ec::tasks::detection
