#include "frontend/known_values.h"

#include "ops/convert.h"

namespace ec {
namespace {

// Sizes, axes and parts are far fewer. A file of some bytes may repeat one number for a list of
// millions, and every node that reads it would have a list of its own.
constexpr int64_t kMostKnown = 1 << 14;

}  // namespace

std::optional<std::vector<int64_t>> known_ints(const Tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  if (tensor->is_constant()) {
    if (!is_integer(tensor->dtype()) && tensor->dtype() != DType::Bool) return std::nullopt;
    const std::vector<int64_t> sizes = tensor->shape()->sizes();
    if (count_elements(sizes) > kMostKnown) return std::nullopt;
    std::vector<int64_t> values(static_cast<size_t>(count_elements(sizes)));
    load<int64_t>(ConstView{tensor->dtype(), sizes, tensor->data().bytes().data(), nullptr},
                  values);
    return values;
  }
  if (!tensor->dim_values()) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& dim : *tensor->dim_values()) {
    if (!dim.is_static()) return std::nullopt;
    values.push_back(dim.size());
  }
  return values;
}

std::optional<double> known_scalar(const Tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  if (!tensor->is_constant()) {
    const auto ints = known_ints(tensor);
    return ints && ints->size() == 1 ? std::optional(static_cast<double>(ints->front()))
                                     : std::nullopt;
  }
  const std::vector<int64_t> sizes = tensor->shape()->sizes();
  if (count_elements(sizes) != 1) return std::nullopt;
  double value = 0;
  load<double>(ConstView{tensor->dtype(), sizes, tensor->data().bytes().data(), nullptr},
               std::span(&value, 1));
  return value;
}

}  // namespace ec
