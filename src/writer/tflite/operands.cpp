#include "writer/tflite/operands.h"

#include "ops/convert.h"

namespace ec::tflite {

std::optional<std::vector<int64_t>> int_values(const ec::Tensor* tensor) {
  if (tensor == nullptr || !tensor->is_constant() || !is_integer(tensor->dtype()))
    return std::nullopt;
  const std::vector<int64_t> shape = tensor->shape()->sizes();
  std::vector<int64_t> values(static_cast<size_t>(count_elements(shape)));
  load<int64_t>(ConstView{tensor->dtype(), shape, tensor->data().bytes().data()}, values);
  return values;
}

std::vector<double> constant_values(const ec::Tensor& tensor) {
  const std::vector<int64_t> sizes = tensor.shape()->sizes();
  std::vector<double> values(static_cast<size_t>(count_elements(sizes)));
  load<double>(ConstView{tensor.dtype(), sizes, tensor.data().bytes().data()}, values);
  return values;
}

std::optional<double> scalar_value(const ec::Tensor* tensor) {
  if (tensor == nullptr || !tensor->is_constant() || tensor->type().num_elements() != 1)
    return std::nullopt;
  double value = 0;
  load<double>(ConstView{tensor->dtype(), {}, tensor->data().bytes().data()}, std::span(&value, 1));
  return value;
}

}  // namespace ec::tflite
