#include "quantize/classification.h"

#include <algorithm>
#include <cmath>

namespace ec::quantize {

void ClassificationScore::add(std::span<const float> scores, size_t label) {
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
}

}  // namespace ec::quantize
