// Arrays of files as samples of a model input: how many an array holds, and each of them.
#pragma once

#include "formats/npy/array_file.h"
#include "quantize/calibration/preprocess.h"

namespace ec::quantize {

// Errors: BadCalibrationData where neither the array nor its rows fit the input.
Result<int64_t> count_samples(const npy::Array& array, const ModelInput& input);
// Requires index < count_samples(). Floats convert to the input's width, integers to the input's
// where they fit; other types are refused.
Result<Value> sample_at(npy::ArrayFile& file, const ModelInput& input, int64_t index);

// The element type of an array; empty where NumPy's forms have none.
std::optional<DType> dtype_of_array(const npy::Array& array);
// Elements in row-major order as an array.
npy::Array array_of_bytes(DType dtype, std::vector<int64_t> shape, Blob data);

// A raw file: elements of the input's type, little endian, one sample behind the other.
// The form of the array, without its elements.
Result<npy::Array> raw_form(size_t file_size, const ModelInput& input);

// "f32[1,3,224,224]" of an array.
std::string array_text(const npy::Array& array);
// Refuses values of the wrong type, shape or size, and floats that are not finite.
Status check_value(const Value& value, const ModelInput& input);

}  // namespace ec::quantize
