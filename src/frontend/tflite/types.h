// Types of TFLite tensors as types of the IR.
#pragma once

#include <optional>

#include "formats/tflite/model_file.h"
#include "ir/type.h"

namespace ec::tflite {

// The element type; of complex numbers the type of their parts. Empty: string, resource or variant.
std::optional<DType> to_dtype(TensorType type);
// Complex numbers are pairs (real, imaginary) along one more dimension, the last (docs/adr/0014).
inline bool is_complex(const Tensor& tensor) {
  return tensor.type() == TensorType::COMPLEX64 || tensor.type() == TensorType::COMPLEX128;
}
// Parameters of an integer tensor; nothing when it has none. Scales and zero points are the file's.
std::optional<QuantParams> quant_params(const Tensor& tensor);
// The type as declared, with the sizes that the file was made for.
ec::TensorType declared_type(const Tensor& tensor, DType dtype);

}  // namespace ec::tflite
