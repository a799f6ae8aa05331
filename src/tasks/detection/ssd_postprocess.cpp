// Boxes, classes, scores and their count, as TFLite_Detection_PostProcess gives them.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/detection/head.h"
#include "tasks/values.h"

namespace ec::tasks::detection {
namespace {

struct Roles {
  size_t boxes = 0, classes = 0, scores = 0, count = 0;
};

class PostprocessHead final : public Head {
 public:
  PostprocessHead(const HeadContext& context, Roles roles)
      : roles_(roles),
        height_(static_cast<float>(std::max<int64_t>(1, context.interface.height))),
        width_(static_cast<float>(std::max<int64_t>(1, context.interface.width))) {
    name_ = "SSD with TFLite_Detection_PostProcess";
    suppression_ = false;
    const auto output = [&](size_t index) {
      return fmt::format("'{}' {}", context.interface.outputs[index],
                         shape_text(context.outputs[index].shape));
    };
    reason_ = fmt::format("boxes in {}, classes in {}, scores in {}, their number in {}",
                          output(roles.boxes), output(roles.classes), output(roles.scores),
                          output(roles.count));
  }

  // y1 x1 y2 x2 in fractions of the picture.
  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    const auto boxes = outputs[roles_.boxes].values;
    const auto classes = outputs[roles_.classes].values, scores = outputs[roles_.scores].values;
    const float told = outputs[roles_.count].values[0];
    const size_t most = scores.size();
    const size_t count = told >= 0 && told < static_cast<float>(most)
                             ? static_cast<size_t>(std::nearbyint(told))
                             : most;
    for (size_t i = 0; i < count; ++i) {
      const float label = std::nearbyint(classes[i]);
      if (!(scores[i] >= least) || !(label >= 0 && label < 1e6f)) continue;
      const float* box = &boxes[4 * i];
      candidates.add({{box[1] * width_, box[0] * height_, box[3] * width_, box[2] * height_},
                      scores[i],
                      static_cast<int32_t>(label),
                      -1});
    }
  }

 private:
  Roles roles_;
  float height_, width_;
};

// Which of two lists holds the classes. Names tell it, else scores that are no whole numbers, else
// the order of the operator's outputs.
bool first_is_classes(const HeadContext& context, size_t first, size_t second) {
  const std::string& a = context.interface.outputs[first];
  const std::string& b = context.interface.outputs[second];
  if (name_has(a, {"score"}) != name_has(b, {"score"})) return name_has(b, {"score"});
  const bool whole = are_integers(context.outputs[first].values);
  if (whole != are_integers(context.outputs[second].values)) return whole;
  return true;
}

}  // namespace

HeadPtr recognise_ssd_postprocess(const HeadContext& context) {
  if (context.outputs.size() != 4) return nullptr;
  std::vector<size_t> boxes, lists, counts;
  for (size_t i = 0; i < 4; ++i) {
    const Tensor& tensor = context.outputs[i];
    const std::optional<Matrix> matrix = as_matrix(tensor);
    if (tensor.values.size() == 1)
      counts.push_back(i);
    else if (tensor.rank() == 3 && matrix && matrix->columns == 4)
      boxes.push_back(i);
    else if (tensor.rank() == 2 && tensor.shape[0] == 1)
      lists.push_back(i);
  }
  if (boxes.size() != 1 || lists.size() != 2 || counts.size() != 1) return nullptr;
  const size_t number = context.outputs[boxes[0]].values.size() / 4;
  for (const size_t list : lists)
    if (context.outputs[list].values.size() != number) return nullptr;
  const bool first = first_is_classes(context, lists[0], lists[1]);
  return std::make_unique<PostprocessHead>(
      context, Roles{boxes[0], lists[first ? 0 : 1], lists[first ? 1 : 0], counts[0]});
}

}  // namespace ec::tasks::detection
