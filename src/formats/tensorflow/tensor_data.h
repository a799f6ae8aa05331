// The elements of a TensorProto in memory form: one element after the other, little endian. Plain
// content is not copied.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "formats/tensorflow/model.h"
#include "support/blob.h"
#include "support/file_bytes.h"
#include "support/result.h"

namespace ec::tf {

// Bytes of one element; 0: the type has no plain elements (string, resource, variant).
size_t element_bytes(DataType type);

// Bytes of a tensor of these sizes; nothing when they are negative or too large.
std::optional<size_t> tensor_bytes(DataType type, std::span<const int64_t> dims);

// The data of all tensors of one file. What leaves its stored form is bounded by the size of the
// file: a few bytes cannot ask for gigabytes.
class TensorReader {
 public:
  // `file` holds what the tensors' views point into.
  explicit TensorReader(FileBytes file) : file_(std::move(file)) {}
  Result<Blob> read(const Tensor& tensor);

 private:
  FileBytes file_;
  size_t converted_ = 0;
};

// The texts of a string tensor, at most `max` of them.
Result<std::vector<std::string_view>> tensor_texts(const Tensor& tensor, size_t max);

}  // namespace ec::tf
