#include "tasks/detection/detection_measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "tasks/detection/average_precision.h"
#include "tasks/detection/candidate_difference.h"
#include "tasks/detection/head.h"

namespace ec::tasks::detection {
namespace {

class DetectionMeasure final : public Measure {
 public:
  DetectionMeasure(HeadPtr head, double threshold)
      : head_(std::move(head)), told_(threshold), threshold_(static_cast<float>(threshold)) {}

  void add(Tensors expected, Tensors got) override {
    const float least = std::min(kLeastScore, threshold_);
    std::vector<Detection> truth = detect(*head_, expected, least);
    const std::vector<Detection> found = detect(*head_, got, least);
    std::erase_if(truth, [&](const Detection& d) { return d.score < threshold_; });
    precision_.add(truth, found);
    found_ += std::count_if(found.begin(), found.end(),
                            [&](const Detection& d) { return d.score >= threshold_; });
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    if (const std::optional<Precision> all = precision_.pooled()) {
      const Precision classes = *precision_.mean_of_classes();
      figures = {{"ap50", "average precision at IoU 0.5", all->ap50, false},
                 {"ap50_95", "average precision at IoU 0.5 to 0.95", all->ap50_95, false},
                 {"map50", "mean of the classes at IoU 0.5", classes.ap50, false},
                 {"map50_95", "mean of the classes at IoU 0.5 to 0.95", classes.ap50_95, false}};
    }
    const std::string above = fmt::format("with a score of {:g} and more", told_);
    figures.push_back({"reference_detections", "detections of the reference " + above,
                       static_cast<double>(precision_.truths()), true});
    figures.push_back({"model_detections", "detections of the model " + above,
                       static_cast<double>(found_), true});
    // Precision is of the order of the scores: it does not show that all of them fell below the
    // threshold of the user.
    figures.push_back({"both_detections", "detections of both " + above + " at IoU 0.5",
                       static_cast<double>(precision_.found_above(threshold_)), true});
    figures.push_back({"score_threshold", "threshold of the scores", told_, false});
    return figures;
  }

  std::optional<double> agreement() const override {
    const std::optional<Precision> all = precision_.pooled();
    return all ? std::optional(all->ap50) : std::nullopt;
  }

  std::optional<int64_t> answers() const override { return precision_.truths(); }

  std::optional<Difference> difference(Tensors expected, Tensors got) const override {
    return difference_of_detections(*head_, expected, got);
  }

  const Head* head() const override { return head_.get(); }

 private:
  HeadPtr head_;
  double told_;
  float threshold_;
  AveragePrecision precision_;
  int64_t found_ = 0;
};

}  // namespace

std::optional<Recognised> recognise(const Interface& interface, Tensors outputs,
                                    const Request& request) {
  HeadPtr head = recognise_head(interface, outputs, request.head);
  if (head == nullptr) return std::nullopt;
  Recognised found{Task::Detection, head->name(), head->reason(), nullptr};
  const double threshold = request.threshold.value_or(static_cast<double>(kReferenceScore));
  found.measure = std::make_unique<DetectionMeasure>(std::move(head), threshold);
  return found;
}

}  // namespace ec::tasks::detection
