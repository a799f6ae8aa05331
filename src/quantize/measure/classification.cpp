#include "quantize/measure/classification.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ec::quantize {

bool ClassificationScore::add(std::span<const float> scores, size_t label) {
  const float own = scores[label];
  size_t rank = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    rank += scores[i] > own || (scores[i] == own && i < label);
  const bool valid = std::isfinite(own);
  ++samples_;
  top1_ += valid && rank == 0;
  top5_ += valid && rank < 5;
  const auto predicted = std::max_element(scores.begin(), scores.end()) - scores.begin();
  ++confusion_[{label, static_cast<size_t>(predicted)}];
  return valid && rank == 0;
}

double ChangedAnswers::chance() const {
  const auto changed = static_cast<double>(put_right + put_wrong);
  const int64_t fewer = std::min(put_right, put_wrong);
  double sum = 0;
  for (int64_t k = 0; k <= fewer; ++k) {
    const auto n = static_cast<double>(k);
    sum += std::exp(std::lgamma(changed + 1) - std::lgamma(n + 1) - std::lgamma(changed - n + 1) -
                    changed * std::numbers::ln2);
  }
  return std::min(1.0, 2 * sum);
}

}  // namespace ec::quantize
