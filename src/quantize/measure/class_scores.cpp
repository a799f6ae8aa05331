#include "quantize/measure/class_scores.h"

#include <algorithm>

#include "ops/attrs.h"
#include "ops/value.h"

namespace ec::quantize {
namespace {

// Through transposes and roundings behind the softmax.
std::optional<size_t> softmax_axis(const Tensor* output) {
  std::vector<const Operation*> transposes;  // the last one first
  const Operation* op = output->producer();
  for (; op != nullptr; op = op->input(0)->producer()) {
    if (op->kind() == OpKind::Transpose)
      transposes.push_back(op);
    else if (op->kind() != OpKind::Quantize && op->kind() != OpKind::Dequantize)
      break;
  }
  if (op == nullptr || !output->shape()) return std::nullopt;
  if (op->kind() != OpKind::Softmax && op->kind() != OpKind::LogSoftmax) return std::nullopt;
  const auto rank = static_cast<int64_t>(output->shape()->rank());
  int64_t axis = op->attrs_as<AxisAttrs>().axis;
  if (axis < 0) axis += rank;
  for (auto it = transposes.rbegin(); it != transposes.rend(); ++it) {
    const std::vector<int64_t>& perm = (*it)->attrs_as<TransposeAttrs>().perm;
    axis = perm.empty() ? rank - 1 - axis : std::ranges::find(perm, axis) - perm.begin();
  }
  return static_cast<size_t>(axis);
}

}  // namespace

size_t score_classes(std::span<const int64_t> shape) {
  if (shape.empty()) return 0;
  size_t classes = 0;
  for (const int64_t size : shape.size() == 1 ? shape : shape.subspan(1)) {
    if (size == 1) continue;
    if (classes != 0 || size < 1) return 0;
    classes = static_cast<size_t>(size);
  }
  return classes;
}

std::vector<std::optional<size_t>> softmax_axes(const Graph& graph) {
  std::vector<std::optional<size_t>> axes;
  for (const Tensor* output : graph.outputs()) axes.push_back(softmax_axis(output));
  return axes;
}

std::optional<ScoreLists> score_lists(std::span<const int64_t> shape,
                                      std::optional<size_t> softmax_axis) {
  const auto count = static_cast<size_t>(count_elements(shape));
  if (const size_t classes = score_classes(shape)) return ScoreLists{count / classes, classes, 1};
  if (!softmax_axis || *softmax_axis >= shape.size() || shape[*softmax_axis] < 2 || count == 0)
    return std::nullopt;
  return ScoreLists{static_cast<size_t>(count_elements(shape.first(*softmax_axis))),
                    static_cast<size_t>(shape[*softmax_axis]),
                    static_cast<size_t>(count_elements(shape.subspan(*softmax_axis + 1)))};
}

bool has_score_lists(const Graph& graph) {
  const auto axes = softmax_axes(graph);
  for (size_t i = 0; i < axes.size(); ++i) {
    const TensorType& type = graph.outputs()[i]->type();
    if (type.dtype != DType::F32) continue;
    // What is open may turn out to be scores.
    if (!type.is_static() || score_lists(type.shape->sizes(), axes[i])) return true;
  }
  return false;
}

void Agreement::add(std::span<const float> a, std::span<const float> b, const ScoreLists& lists) {
  const auto top = [&](std::span<const float> values, size_t first) {
    size_t best = 0;
    for (size_t c = 1; c < lists.classes; ++c)
      if (values[first + c * lists.inner] > values[first + best * lists.inner]) best = c;
    return best;
  };
  for (size_t row = 0; row < lists.rows; ++row)
    for (size_t i = 0; i < lists.inner; ++i, ++rows) {
      const size_t first = row * lists.classes * lists.inner + i;
      same += top(a, first) == top(b, first);
    }
}

std::optional<double> Agreement::share() const {
  if (rows == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(rows);
}

}  // namespace ec::quantize
