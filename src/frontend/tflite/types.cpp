#include "frontend/tflite/types.h"

#include "formats/tflite/check_tensor.h"

namespace ec::tflite {

std::optional<DType> to_dtype(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
      return DType::F32;
    case TensorType::FLOAT16:
      return DType::F16;
    case TensorType::BFLOAT16:
      return DType::BF16;
    case TensorType::FLOAT64:
      return DType::F64;
    case TensorType::INT8:
      return DType::I8;
    case TensorType::UINT8:
      return DType::U8;
    case TensorType::INT16:
      return DType::I16;
    case TensorType::UINT16:
      return DType::U16;
    case TensorType::INT32:
      return DType::I32;
    case TensorType::UINT32:
      return DType::U32;
    case TensorType::INT64:
      return DType::I64;
    case TensorType::UINT64:
      return DType::U64;
    case TensorType::BOOL:
      return DType::Bool;
    case TensorType::INT4:
      return DType::I4;
    case TensorType::UINT4:
      return DType::U4;
    case TensorType::INT2:
      return DType::I2;
    case TensorType::COMPLEX64:
      return DType::F32;
    case TensorType::COMPLEX128:
      return DType::F64;
    case TensorType::STRING:
    case TensorType::RESOURCE:
    case TensorType::VARIANT:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<QuantParams> quant_params(const Tensor& tensor) {
  const QuantizationParameters* quant = tensor.quantization();
  if (quant == nullptr || size_of(quant->scale()) == 0) return std::nullopt;
  // Converters leave a scale of zero, or parameters on float tensors, where nothing is quantised.
  const auto dtype = to_dtype(tensor.type());
  if (!dtype || !is_integer(*dtype)) return std::nullopt;
  for (const float scale : *quant->scale())
    if (scale == 0.0f) return std::nullopt;
  QuantParams params;
  params.scales.assign(quant->scale()->begin(), quant->scale()->end());
  params.zero_points.assign(params.scales.size(), 0);
  const size_t zeros = size_of(quant->zero_point());
  for (size_t i = 0; i < params.zero_points.size() && zeros > 0; ++i)
    params.zero_points[i] = static_cast<int32_t>(
        quant->zero_point()->Get(static_cast<flatbuffers::uoffset_t>(zeros == 1 ? 0 : i)));
  if (params.scales.size() > 1) params.axis = quantized_axis(tensor).value_or(-1);
  return params;
}

ec::TensorType declared_type(const Tensor& tensor, DType dtype) {
  Shape shape;
  for (uint32_t i = 0; i < size_of(tensor.shape()); ++i)
    shape.push_back(Dim(int64_t{tensor.shape()->Get(i)}));
  if (is_complex(tensor)) shape.push_back(Dim(2));
  ec::TensorType type(dtype, std::move(shape));
  type.quant = quant_params(tensor);
  return type;
}

}  // namespace ec::tflite
