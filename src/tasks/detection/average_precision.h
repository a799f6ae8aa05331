// Average precision as COCO defines it: the mean of the precision at 101 recalls, at ten overlaps
// from 0.5 to 0.95.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tasks/detection/detections.h"

namespace ec::tasks::detection {

struct Precision {
  double ap50 = 0;     // at IoU 0.5
  double ap50_95 = 0;  // mean of IoU 0.5, 0.55, ... 0.95
};

class AveragePrecision {
 public:
  // One sample: what is there and what was found. `ignored` are regions whose contents are neither
  // right nor wrong (COCO's crowds). Memory: 12 bytes for each that was found.
  void add(std::span<const Detection> truth, std::span<const Detection> found,
           std::span<const Detection> ignored = {});

  int64_t truths() const { return truths_; }
  // How many of them were found at IoU 0.5 with at least this score.
  int64_t found_above(float score) const;
  // Empty where there is nothing to find.
  std::optional<Precision> pooled() const;           // all classes together
  std::optional<Precision> mean_of_classes() const;  // of those that occur

 private:
  static constexpr size_t kOverlaps = 10;
  struct Entry {
    float score = 0;
    int32_t label = 0;
    uint16_t matched = 0, ignored = 0;  // a bit for each overlap
  };
  static double average(const std::vector<Entry>& sorted, size_t overlap, int64_t truths);
  static Precision precision(std::vector<Entry> entries, int64_t truths);

  std::vector<Entry> entries_;
  std::map<int32_t, int64_t> truths_of_class_;
  int64_t truths_ = 0;
};

}  // namespace ec::tasks::detection
