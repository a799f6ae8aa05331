// How often the right class has the largest score.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace ec::quantize {

class ClassificationScore {
 public:
  // Adds one sample; `label` is the index of its class among the scores. The first of equal scores
  // counts as the larger one; a score that is not a number is never right. True where the largest
  // score is the right one.
  bool add(std::span<const float> scores, size_t label);

  int64_t samples() const { return samples_; }
  double top1() const { return share(top1_); }
  double top5() const { return share(top5_); }
  // (right, predicted) -> how often, in order.
  const std::map<std::pair<size_t, size_t>, int64_t>& confusion() const { return confusion_; }

 private:
  double share(int64_t count) const {
    return samples_ > 0 ? static_cast<double>(count) / static_cast<double>(samples_) : 0.0;
  }

  int64_t samples_ = 0, top1_ = 0, top5_ = 0;
  std::map<std::pair<size_t, size_t>, int64_t> confusion_;
};

// Answers that one network has right and the other wrong.
struct ChangedAnswers {
  int64_t put_right = 0, put_wrong = 0;

  void add(bool right, bool right_before) {
    put_right += right && !right_before;
    put_wrong += !right && right_before;
  }
  // How likely two networks that are right equally often differ at least as much on so many
  // samples (exact McNemar test): near 1 the difference says nothing, below 0.05 it is real.
  double chance() const;
};

}  // namespace ec::quantize
