#include "backend/coral/operator_view.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ec::coral {

using tflite::BuiltinOperator;

namespace {

// Counts of hostile shapes saturate.
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t product(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n = times(n, std::max<int64_t>(size, 0));
  return n;
}

// Multiply-accumulates per element of the result of an operator with weights.
int64_t macs_per_result(BuiltinOperator code, std::span<const int64_t> weights) {
  if (weights.empty()) return 0;
  switch (code) {
    case BuiltinOperator::CONV_2D:
    case BuiltinOperator::FULLY_CONNECTED:
      return weights[0] == 0 ? 0 : product(weights) / weights[0];
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      return weights.size() == 4 ? times(weights[1], weights[2]) : 0;
    default:
      return 0;
  }
}

}  // namespace

BuiltinOperator OperatorView::code() const {
  return static_cast<BuiltinOperator>(tflite::builtin_code(file_->code_of(*op_)));
}

std::string OperatorView::name() const { return tflite::operator_name(file_->code_of(*op_)); }

std::string OperatorView::label() const {
  const tflite::Tensor* first = num_outputs() > 0 ? output(0) : nullptr;
  return first != nullptr ? std::string(tflite::text_of(first->name())) : name();
}

const tflite::Tensor* OperatorView::input(size_t i) const {
  if (i >= num_inputs()) return nullptr;
  const int32_t index = op_->inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  return index < 0 ? nullptr : graph_->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

const tflite::Tensor* OperatorView::output(size_t i) const {
  if (i >= num_outputs()) return nullptr;
  const int32_t index = op_->outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  return index < 0 ? nullptr : graph_->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

bool OperatorView::is_constant(size_t i) const {
  const tflite::Tensor* tensor = input(i);
  return tensor != nullptr && file_->constant_data(*tensor).has_value();
}

std::vector<int64_t> OperatorView::shape(const tflite::Tensor& tensor) const {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < tflite::size_of(tensor.shape()); ++d)
    sizes.push_back(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(d)));
  return sizes;
}

std::vector<int64_t> OperatorView::input_shape(size_t i) const {
  const tflite::Tensor* tensor = input(i);
  return tensor != nullptr ? shape(*tensor) : std::vector<int64_t>{};
}

std::vector<int64_t> OperatorView::output_shape(size_t i) const {
  const tflite::Tensor* tensor = output(i);
  return tensor != nullptr ? shape(*tensor) : std::vector<int64_t>{};
}

std::optional<std::vector<int64_t>> OperatorView::input_integers(size_t i) const {
  const tflite::Tensor* tensor = input(i);
  if (tensor == nullptr) return std::nullopt;
  const std::optional<Blob> data = file_->constant_data(*tensor);
  if (!data) return std::nullopt;
  const bool wide = tensor->type() == tflite::TensorType::INT64;
  if (!wide && tensor->type() != tflite::TensorType::INT32) return std::nullopt;
  const size_t width = wide ? sizeof(int64_t) : sizeof(int32_t);
  std::vector<int64_t> values;
  for (size_t at = 0; at + width <= data->size(); at += width) {
    int64_t value64 = 0;
    int32_t value32 = 0;
    if (wide)
      std::memcpy(&value64, data->bytes().data() + at, width);
    else
      std::memcpy(&value32, data->bytes().data() + at, width);
    values.push_back(wide ? value64 : value32);
  }
  return values;
}

bool OperatorView::is_zero(size_t i) const {
  const tflite::Tensor* tensor = input(i);
  if (tensor == nullptr) return false;
  const std::optional<Blob> data = file_->constant_data(*tensor);
  if (!data) return false;
  const tflite::QuantizationParameters* quant = tensor->quantization();
  const bool shifted = quant != nullptr && tflite::size_of(quant->zero_point()) > 0;
  const auto zero = static_cast<uint8_t>(shifted ? quant->zero_point()->Get(0) : 0);
  for (const std::byte byte : data->bytes())
    if (static_cast<uint8_t>(byte) != zero) return false;
  return true;
}

int64_t OperatorView::macs() const {
  if (code() == BuiltinOperator::TRANSPOSE_CONV) {
    const std::vector<int64_t> weights = input_shape(1), image = input_shape(2);
    return weights.empty() || image.empty() || image.back() == 0
               ? 0
               : times(product(image) / image.back(), product(weights));
  }
  return times(product(output_shape()), macs_per_result(code(), input_shape(1)));
}

int64_t OperatorView::parameter_bytes() const {
  const auto is_parameter = [](tflite::TensorType type) {
    return type == tflite::TensorType::INT8 || type == tflite::TensorType::UINT8 ||
           type == tflite::TensorType::INT16;
  };
  int64_t bytes = 0;
  for (size_t i = 0; i < num_inputs(); ++i) {
    const tflite::Tensor* tensor = input(i);
    if (tensor == nullptr) continue;
    const std::optional<Blob> data = file_->constant_data(*tensor);
    if (!data) continue;
    // int32 constants are biases where the operator has weights, else axes and sizes.
    const bool is_bias = tensor->type() == tflite::TensorType::INT32 && macs() > 0;
    if (is_parameter(tensor->type()) || is_bias) bytes += static_cast<int64_t>(data->size());
  }
  return bytes;
}

std::string shape_text(std::span<const int64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

}  // namespace ec::coral
