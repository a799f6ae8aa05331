// How far the candidates of two detectors are apart, before a threshold is chosen and overlaps are
// suppressed. Every rounding shows in it, so that a handful of pictures tells which of two
// quantisations loses less; average precision needs hundreds of detections for that.
#pragma once

#include "tasks/detection/head.h"

namespace ec::tasks::detection {

// Candidates of the same row and class are compared: their scores by the share of thresholds that
// lie between them, their boxes by what they do not have in common.
Difference difference_of_detections(const Head& head, Tensors expected, Tensors got);

}  // namespace ec::tasks::detection
