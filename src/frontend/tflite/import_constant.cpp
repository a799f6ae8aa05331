// Constants: views of the file where the bytes are what the IR wants; 4- and 2-bit elements are
// unpacked, sparse tensors made dense.
#include <cstring>

#include "formats/tflite/check_tensor.h"
#include "formats/tflite/sparse.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/limits.h"
#include "frontend/tflite/types.h"

namespace ec::tflite {
namespace {

// Elements of 4 or 2 bits, the first in the low bits of a byte, one per byte.
void unpack(std::span<const std::byte> packed, int bits, bool is_signed, std::span<std::byte> out) {
  const int per_byte = 8 / bits;
  const int mask = (1 << bits) - 1, sign = 1 << (bits - 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<int>(packed[i / static_cast<size_t>(per_byte)]);
    int value = byte >> (static_cast<int>(i % static_cast<size_t>(per_byte)) * bits) & mask;
    if (is_signed && (value & sign) != 0) value -= 1 << bits;
    out[i] = static_cast<std::byte>(value);
  }
}

}  // namespace

Result<Blob> Importer::constant_bytes(const Tensor& tensor, const Blob& data, DType dtype) {
  const auto elements = static_cast<size_t>(*count_elements(tensor.shape()));
  const size_t left = max_copied_bytes(blob_.size()) - copied_bytes_;
  if (tensor.sparsity() != nullptr) {
    EC_TRY(Blob dense, dense_data(tensor, data, left));
    copied_bytes_ += dense.size();
    return dense;
  }
  const int bits = element_bits(tensor.type());
  if (bits >= 8) return data;
  if (!may_copy(elements))
    return Error(Code::TooLarge, "unpacked constants exceed the limit for a file of this size");
  ec::Buffer buffer = ec::Buffer::allocate(elements);
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a constant");
  unpack(data.bytes(), bits, is_signed_integer(dtype), buffer.bytes());
  return std::move(buffer).to_blob();
}

Result<ec::Tensor*> Importer::add_constant(Scope& scope, const Tensor& tensor, std::string name) {
  const auto dtype = to_dtype(tensor.type());
  EC_TRY(Blob bytes, constant_bytes(tensor, *file_->constant_data(tensor), *dtype));
  return scope.graph.add_constant(std::move(name), declared_type(tensor, *dtype), std::move(bytes));
}

// A variable tensor before the first run holds zeros, or the stored form of zero when it is int8.
Result<ec::Tensor*> Importer::add_initial_state(Scope& scope, const Tensor& tensor,
                                                std::string name) {
  const auto dtype = to_dtype(tensor.type());
  const ec::TensorType type = declared_type(tensor, *dtype);
  const auto bytes = type.num_bytes();
  if (!bytes || !may_copy(static_cast<size_t>(*bytes)))
    return Error(Code::TooLarge, "the state of '" + name + "' exceeds the limit");
  ec::Buffer buffer = ec::Buffer::allocate(static_cast<size_t>(*bytes));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a variable");
  if (*dtype == DType::I8 && type.quant)
    std::memset(buffer.data(), type.quant->zero_points[0], buffer.size());
  return scope.graph.add_constant(std::move(name), type, std::move(buffer).to_blob());
}

bool Importer::is_defined(const Scope& scope, int32_t index) const {
  const auto at = static_cast<size_t>(index);
  const Tensor& tensor = scope.tensor(index);
  return scope.values[at] != nullptr || scope.poisoned[at] || tensor.is_variable() ||
         scope.handles.contains(index) || file_->constant_data(tensor).has_value();
}

ec::Tensor* Importer::value(Scope& scope, int32_t index, const Location& reader) {
  if (index < 0) return nullptr;
  const auto at = static_cast<size_t>(index);
  if (scope.values[at] != nullptr || scope.poisoned[at] || scope.handles.contains(index))
    return scope.values[at];
  const Tensor& tensor = scope.tensor(index);
  const auto fail = [&](Error error) {
    report(std::move(error).node(std::string(reader.name()), reader.op_type));
    scope.poisoned[at] = true;
    return nullptr;
  };
  if (!to_dtype(tensor.type()))
    return fail(Error(Code::UnsupportedType, tensor_label(scope.source, index) +
                                                 " holds elements of type " +
                                                 std::string(tensor_type_name(tensor.type()))));
  if (!tensor.is_variable() && !file_->constant_data(tensor))
    return fail(Error(Code::UndefinedName,
                      tensor_label(scope.source, index) + " is read and never computed"));
  Result<ec::Tensor*> made = tensor.is_variable()
                                 ? add_variable_tensor(scope, index, reader)
                                 : add_constant(scope, tensor, source_name(tensor));
  if (!made.ok()) return fail(std::move(made).error());
  return scope.values[at] = *made;
}

}  // namespace ec::tflite
