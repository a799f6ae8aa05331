// How a detector's outputs become boxes. One file for each family of heads; recognise.cpp has their
// order.
#pragma once

#include <memory>

#include "tasks/detection/detections.h"
#include "tasks/task.h"

namespace ec::tasks::detection {

class Head {
 public:
  virtual ~Head() = default;

  const std::string& name() const { return name_; }      // "YOLOv8"
  const std::string& reason() const { return reason_; }  // why the outputs are taken for it
  // Number of classes; 0: the outputs do not tell.
  int32_t classes() const { return classes_; }
  // Boxes have a place in the picture, in pixels of the input. Else they are relative to anchors
  // that are not known, and comparable by anchor alone.
  bool is_placed() const { return placed_; }
  // One object may have several boxes: suppression is left to the user of the network.
  bool needs_suppression() const { return suppression_; }

  // Adds what has a score of `least` and more.
  virtual void decode(Tensors outputs, float least, Candidates& candidates) const = 0;

 protected:
  std::string name_, reason_;
  int32_t classes_ = 0;
  bool placed_ = true, suppression_ = true;
};

// Detections of one sample, the best first.
std::vector<Detection> detect(const Head& head, Tensors outputs, float least = kLeastScore);

// What recognisers look at. `forced`: the user named the head, so that shapes decide and values
// only choose between its forms.
struct HeadContext {
  const Interface& interface;
  Tensors outputs;  // of the first sample of the original network
  bool forced = false;
};
using HeadPtr = std::unique_ptr<Head>;  // null: not this one

HeadPtr recognise_yolo(const HeadContext& context);             // v8, v9, v11: no objectness
HeadPtr recognise_yolo_objectness(const HeadContext& context);  // v5, v7, decoded YOLOX
HeadPtr recognise_yolox(const HeadContext& context);            // grid not decoded
HeadPtr recognise_end_to_end(const HeadContext& context);       // v10, v26
HeadPtr recognise_ssd_postprocess(const HeadContext& context);
HeadPtr recognise_box_and_scores(const HeadContext& context);  // DETR, decoded and raw SSD
HeadPtr recognise_picodet(const HeadContext& context);
HeadPtr recognise_centernet(const HeadContext& context);

struct HeadKind {
  std::string_view name;  // for --head
  HeadPtr (*recognise)(const HeadContext& context);
};
std::span<const HeadKind> head_kinds();
HeadPtr recognise_head(const Interface& interface, Tensors outputs, std::string_view wanted);

}  // namespace ec::tasks::detection
