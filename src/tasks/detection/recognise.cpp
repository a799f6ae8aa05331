#include "tasks/detection/head.h"

namespace ec::tasks::detection {
namespace {

// Those with several outputs first: their sets of shapes are hard to mistake.
constexpr HeadKind kKinds[] = {
    {"ssd-postprocess", recognise_ssd_postprocess},
    {"centernet", recognise_centernet},
    {"picodet", recognise_picodet},
    {"detr", recognise_box_and_scores},
    {"ssd", recognise_box_and_scores},
    {"end-to-end", recognise_end_to_end},
    {"yolox", recognise_yolox},
    {"yolov5", recognise_yolo_objectness},
    {"yolov8", recognise_yolo},
};

}  // namespace

std::span<const HeadKind> head_kinds() { return kKinds; }

HeadPtr recognise_head(const Interface& interface, Tensors outputs, std::string_view wanted) {
  for (const HeadKind& kind : kKinds) {
    if (!wanted.empty() && kind.name != wanted) continue;
    if (HeadPtr head = kind.recognise({interface, outputs, !wanted.empty()})) return head;
  }
  return nullptr;
}

std::vector<Detection> detect(const Head& head, Tensors outputs, float least) {
  Candidates candidates;
  head.decode(outputs, least, candidates);
  std::vector<Detection> sorted = candidates.take();
  if (head.needs_suppression()) return suppress_overlapping(sorted, kNmsOverlap);
  if (sorted.size() > kMostDetections) sorted.resize(kMostDetections);
  return sorted;
}

}  // namespace ec::tasks::detection
