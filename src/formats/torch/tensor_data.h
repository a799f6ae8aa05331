// Tensors of a pickle: element types, strided views of storages, quantisation. Weights that stand
// in the file as the IR wants them (row-major, little endian) are slices of the file, not copies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/torch/archive.h"
#include "formats/torch/pickle.h"

namespace ec::torch {

// An element type by its storage class and by its number in code (c10::ScalarType).
struct ElementType {
  std::string_view storage;  // "FloatStorage"; empty where none is written
  int scalar_type;
  std::string_view element;  // the IR's name; empty where it has none (complex)
  size_t bytes;
  bool quantized = false;
};

const ElementType* find_element_type(std::string_view storage);
const ElementType* find_element_type(int scalar_type);

struct StridedView {
  Blob storage;
  size_t item_size = 1;
  int64_t offset = 0;  // in elements, as the strides
  std::vector<int64_t> sizes, strides;
};

bool is_row_major(std::span<const int64_t> sizes, std::span<const int64_t> strides);
// The view's elements in row-major order: a slice of the storage, or a copy that is taken from the
// budget (bytes), because strides of zero can make a huge tensor of a small file.
Result<Blob> row_major_bytes(const StridedView& view, size_t& budget);

struct QuantizedWith {
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  int64_t axis = -1;  // per tensor
};

struct TensorData {
  const ElementType* type = nullptr;
  std::vector<int64_t> sizes;
  Blob bytes;
  std::optional<QuantizedWith> quant;
  // Equal for tensors that share a storage: what is written to one is seen in the other.
  std::string storage_key;
};

// Reads the tensors of one pickle; `folder` has its storages ("data", "constants").
class TensorReader {
 public:
  TensorReader(const Archive& archive, const Pickle& pickle, std::string folder);
  // Requires a Tensor node.
  Result<TensorData> read(const PickleNode& tensor);
  // Type and sizes alone; the storage may be empty (traced_inputs).
  Result<TensorData> describe(const PickleNode& tensor) const;

 private:
  Result<Blob> storage(const PickleNode& node, const ElementType& type);
  Result<QuantizedWith> read_quantization(const PickleNode& parameters);

  const Archive& archive_;
  const Pickle& pickle_;
  std::string folder_;
  std::unordered_map<std::string, Blob> storages_;
  size_t budget_;
};

}  // namespace ec::torch
