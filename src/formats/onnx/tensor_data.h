// The elements of a TensorProto in memory form: one element after the other, little endian, 4- and
// 2-bit types unpacked to one element per byte. Raw data of whole-byte types is not copied.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "formats/onnx/model.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec::onnx {

struct DataTypeInfo {
  DataType type;
  std::string_view name;     // as in onnx.proto
  std::string_view element;  // the IR's name of the element type; empty where it has none
  int bits;                  // in raw data; 0: no plain elements (string)
  bool is_signed;            // of 4- and 2-bit integers
};

// Null for a number that is no data type.
const DataTypeInfo* find_data_type(DataType type);
// By the IR's name of the element type.
const DataTypeInfo* find_data_type(std::string_view element);
std::string data_type_name(DataType type);

// Product of the dimensions; empty when one is negative or the product overflows.
std::optional<int64_t> count_elements(std::span<const int64_t> dims);

// Maps the external files of one model, each once. References must stay in the model's folder.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path model) : model_(std::move(model)) {}
  Result<Blob> bytes(const Tensor& tensor, size_t needed);

 private:
  Result<Blob> open(std::string_view location);

  std::filesystem::path model_;
  std::map<std::string, Blob, std::less<>> files_;
};

// `file` is the blob that the tensor's views point into; `external` may be null (then a reference
// to a file is an error). Strings and complex numbers are UnsupportedType.
Result<Blob> tensor_data(const Tensor& tensor, const Blob& file, ExternalData* external);

// The dense form of a sparse tensor, at most max_bytes large.
Result<Blob> dense_data(const SparseTensor& sparse, const Blob& file, ExternalData* external,
                        size_t max_bytes);

}  // namespace ec::onnx
