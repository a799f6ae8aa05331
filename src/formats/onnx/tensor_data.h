// The elements of a TensorProto in memory form: one element after the other, little endian, 4- and
// 2-bit types unpacked to one element per byte. Raw data of whole-byte types is not copied.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "formats/onnx/model.h"
#include "support/blob.h"
#include "support/input_file.h"
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

// The external files of one model, each opened once. References must stay in the model's folder.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path model) : model_(std::move(model)) {}
  Result<Blob> bytes(const Tensor& tensor, size_t needed);
  size_t file_bytes() const { return file_bytes_; }  // of all files that were opened
  // FileUnreadable when one of them is no longer what it was when it was opened.
  Status check_unchanged() const;

 private:
  Result<FileImage*> open(std::string_view location);

  std::filesystem::path model_;
  std::map<std::string, FileImage, std::less<>> files_;
  size_t file_bytes_ = 0;
};

// The data of all tensors of one model. Tensors that name the same bytes share them, and what
// leaves its stored form is bounded by the size of the files: a few bytes cannot ask for gigabytes.
class TensorReader {
 public:
  // `file` is the blob that the tensors' views point into. `external` may be null: then a reference
  // to a file is an error.
  TensorReader(Blob file, ExternalData* external) : file_(std::move(file)), external_(external) {}
  // Strings and complex numbers are UnsupportedType.
  Result<Blob> read(const Tensor& tensor);
  // The dense form of a sparse tensor.
  Result<Blob> read_dense(const SparseTensor& sparse);

 private:
  // Where the stored bytes are, their number and type.
  using Key = std::tuple<const void*, size_t, DataType>;

  Result<Blob> stored(const Tensor& tensor, const DataTypeInfo& info, size_t size);
  Result<Blob> typed(const Tensor& tensor, const DataTypeInfo& info, size_t size);
  Result<Blob> memory_form(const Tensor& tensor, const DataTypeInfo& info, const Blob& stored,
                           size_t count);
  size_t file_bytes() const;
  Status charge_converted(const Tensor& tensor, size_t bytes);
  Status charge_unpacked(const Tensor& tensor, size_t bytes);

  Blob file_;
  ExternalData* external_;
  std::map<Key, Blob> known_;  // looked up only
  size_t converted_ = 0;       // bytes of typed fields, booleans and dense forms
  size_t unpacked_ = 0;        // bytes of 4- and 2-bit types
  size_t referenced_ = 0;      // bytes of external ranges that differ
};

}  // namespace ec::onnx
