// Types of TFLite tensors as types of the IR.
#pragma once

#include <optional>

#include "formats/tflite/model_file.h"
#include "ir/type.h"

namespace ec::tflite {

std::optional<DType> to_dtype(TensorType type);  // empty: string, complex, resource or variant
// Parameters of an integer tensor; nothing when it has none. Scales and zero points are the file's.
std::optional<QuantParams> quant_params(const Tensor& tensor);
// The type as declared, with the sizes that the file was made for.
ec::TensorType declared_type(const Tensor& tensor, DType dtype);

}  // namespace ec::tflite
