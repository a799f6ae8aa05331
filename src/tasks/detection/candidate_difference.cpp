#include "tasks/detection/candidate_difference.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ec::tasks::detection {
namespace {

// Thresholds that users choose: as many between 0.02 and 0.1 as between 0.2 and 1.
constexpr float kLeastThreshold = 0.02f;
// What one sure detection counts. Added to every sample, so that a picture without objects has a
// scale, too.
constexpr double kBaseSignal = 1.0;

// The share of thresholds that a score passes.
double passed(float score) {
  const float bounded = std::clamp(score, kLeastThreshold, 1.0f);
  return std::log(static_cast<double>(bounded / kLeastThreshold)) /
         std::log(1.0 / static_cast<double>(kLeastThreshold));
}

std::vector<Detection> candidates_of(const Head& head, Tensors outputs) {
  Candidates candidates;
  head.decode(outputs, kLeastThreshold, candidates);
  return candidates.take();
}

// A candidate that one network has and the other has not, or has with another score and box.
double noise_of(const Detection* expected, const Detection* got) {
  const double a = expected != nullptr ? passed(expected->score) : 0;
  const double b = got != nullptr ? passed(got->score) : 0;
  double noise = (a - b) * (a - b);
  if (expected != nullptr && got != nullptr) {
    const double apart = 1 - iou(expected->box, got->box);
    noise += a * b * apart * apart;
  }
  return noise;
}

double compare_by_row(std::vector<Detection> expected, std::vector<Detection> got) {
  const auto key = [](const Detection& d) { return std::tuple(d.row, d.label); };
  const auto before = [&](const Detection& a, const Detection& b) { return key(a) < key(b); };
  std::stable_sort(expected.begin(), expected.end(), before);
  std::stable_sort(got.begin(), got.end(), before);
  double noise = 0;
  auto e = expected.begin();
  auto g = got.begin();
  while (e != expected.end() || g != got.end()) {
    if (g == got.end() || (e != expected.end() && before(*e, *g)))
      noise += noise_of(&*e++, nullptr);
    else if (e == expected.end() || before(*g, *e))
      noise += noise_of(nullptr, &*g++);
    else
      noise += noise_of(&*e++, &*g++);
  }
  return noise;
}

// Rows that are sorted by score: each has the best partner that is left. Both are by falling score.
double compare_by_place(std::span<const Detection> expected, std::span<const Detection> got) {
  const auto few = [](std::span<const Detection> all) {
    return all.first(std::min(all.size(), kMostDetections));
  };
  expected = few(expected), got = few(got);
  std::vector<bool> taken(got.size(), false);
  double noise = 0;
  for (const Detection& one : expected) {
    size_t best = got.size();
    double share = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (taken[i] || got[i].label != one.label || got[i].anchor != one.anchor) continue;
      if (const double overlap = iou(one.box, got[i].box); overlap > share)
        best = i, share = overlap;
    }
    if (best < got.size()) taken[best] = true;
    noise += noise_of(&one, best < got.size() ? &got[best] : nullptr);
  }
  for (size_t i = 0; i < got.size(); ++i)
    if (!taken[i]) noise += noise_of(nullptr, &got[i]);
  return noise;
}

}  // namespace

Difference difference_of_detections(const Head& head, Tensors expected, Tensors got) {
  std::vector<Detection> a = candidates_of(head, expected), b = candidates_of(head, got);
  Difference difference;
  difference.signal = kBaseSignal;
  for (const Detection& one : a) difference.signal += passed(one.score) * passed(one.score);
  const auto sorted = [](const Detection& d) { return d.row < 0; };
  const bool by_place =
      std::any_of(a.begin(), a.end(), sorted) || std::any_of(b.begin(), b.end(), sorted);
  difference.noise = by_place ? compare_by_place(a, b) : compare_by_row(std::move(a), std::move(b));
  return difference;
}

}  // namespace ec::tasks::detection
