// Reading constant operands while writing.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ec::tflite {

// Elements of an integer constant; nothing when the tensor is absent or computed.
std::optional<std::vector<int64_t>> int_values(const ec::Tensor* tensor);
// The elements of a constant.
std::vector<double> constant_values(const ec::Tensor& tensor);
// The number when the tensor is a constant of one element.
std::optional<double> scalar_value(const ec::Tensor* tensor);
inline int64_t positive_axis(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

}  // namespace ec::tflite
