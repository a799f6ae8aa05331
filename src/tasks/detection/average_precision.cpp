#include "tasks/detection/average_precision.h"

#include <algorithm>

namespace ec::tasks::detection {
namespace {

constexpr int64_t kRecalls = 100;  // 0, 0.01, ... 1

double overlap_at(size_t index) { return 0.5 + 0.05 * static_cast<double>(index); }

bool comparable(const Detection& a, const Detection& b) {
  return a.label == b.label && a.anchor == b.anchor;
}

}  // namespace

void AveragePrecision::add(std::span<const Detection> truth, std::span<const Detection> found,
                           std::span<const Detection> ignored) {
  for (const Detection& detection : truth) ++truths_of_class_[detection.label];
  truths_ += static_cast<int64_t>(truth.size());
  std::vector<Detection> sorted(found.begin(), found.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  // By truth: the overlaps at which something better took it.
  std::vector<uint16_t> taken(truth.size(), 0);
  std::vector<double> overlaps(truth.size());
  for (const Detection& detection : sorted) {
    Entry entry{detection.score, detection.label, 0, 0};
    for (size_t t = 0; t < truth.size(); ++t)
      overlaps[t] = comparable(truth[t], detection) ? iou(truth[t].box, detection.box) : -1;
    double crowd = 0;
    for (const Detection& region : ignored)
      if (region.label == detection.label && area(detection.box) > 0)
        crowd = std::max(crowd, intersection(region.box, detection.box) / area(detection.box));
    for (size_t o = 0; o < kOverlaps; ++o) {
      const auto bit = static_cast<uint16_t>(1u << o);
      size_t best = truth.size();
      for (size_t t = 0; t < truth.size(); ++t)
        if ((taken[t] & bit) == 0 && overlaps[t] >= overlap_at(o) &&
            (best == truth.size() || overlaps[t] > overlaps[best]))
          best = t;
      if (best < truth.size()) {
        taken[best] |= bit;
        entry.matched |= bit;
      } else if (crowd >= overlap_at(o)) {
        entry.ignored |= bit;
      }
    }
    entries_.push_back(entry);
  }
}

int64_t AveragePrecision::found_above(float score) const {
  return std::count_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return (entry.matched & 1u) != 0 && entry.score >= score;
  });
}

// `sorted` is by falling score. Recalls are compared as whole numbers, so that 0.29 is 29 of 100.
double AveragePrecision::average(const std::vector<Entry>& sorted, size_t overlap, int64_t truths) {
  const unsigned bit = 1u << overlap;
  std::vector<std::pair<int64_t, double>> curve;  // found so far, precision
  int64_t right = 0, all = 0;
  for (const Entry& entry : sorted) {
    if ((entry.ignored & bit) != 0) continue;
    ++all;
    if ((entry.matched & bit) == 0) continue;
    ++right;
    curve.emplace_back(right, static_cast<double>(right) / static_cast<double>(all));
  }
  for (size_t i = curve.size(); i-- > 1;)
    curve[i - 1].second = std::max(curve[i - 1].second, curve[i].second);
  double sum = 0;
  size_t at = 0;
  for (int64_t recall = 0; recall <= kRecalls; ++recall) {
    while (at < curve.size() && curve[at].first * kRecalls < recall * truths) ++at;
    if (at == curve.size()) break;
    sum += curve[at].second;
  }
  return sum / static_cast<double>(kRecalls + 1);
}

Precision AveragePrecision::precision(std::vector<Entry> entries, int64_t truths) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.score > b.score; });
  Precision result;
  for (size_t o = 0; o < kOverlaps; ++o) {
    const double value = average(entries, o, truths);
    if (o == 0) result.ap50 = value;
    result.ap50_95 += value;
  }
  result.ap50_95 /= kOverlaps;
  return result;
}

std::optional<Precision> AveragePrecision::pooled() const {
  if (truths_ == 0) return std::nullopt;
  return precision(entries_, truths_);
}

std::optional<Precision> AveragePrecision::mean_of_classes() const {
  if (truths_ == 0) return std::nullopt;
  std::map<int32_t, std::vector<Entry>> by_class;
  for (const Entry& entry : entries_)
    if (truths_of_class_.contains(entry.label)) by_class[entry.label].push_back(entry);
  Precision mean;
  const auto classes = static_cast<double>(truths_of_class_.size());
  for (const auto& [label, truths] : truths_of_class_) {
    const Precision one = precision(std::move(by_class[label]), truths);
    mean.ap50 += one.ap50;
    mean.ap50_95 += one.ap50_95;
  }
  return Precision{mean.ap50 / classes, mean.ap50_95 / classes};
}

}  // namespace ec::tasks::detection
