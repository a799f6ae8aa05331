#include "formats/tensorflow/tensor_data.h"

#include <algorithm>
#include <cstring>

#include "formats/protobuf/wire.h"
#include "formats/tensorflow/decode.h"
#include "formats/tensorflow/small_integers.h"
#include "support/checked.h"

namespace ec::tf {
namespace {

using wire::Reader;

namespace field {
constexpr uint32_t kFloat = 5, kDouble = 6, kInt = 7, kString = 8, kComplex = 9, kInt64 = 10,
                   kBool = 11, kDoubleComplex = 12, kHalf = 13, kUint32 = 16, kUint64 = 17,
                   kFloat8 = 18;
}

// The field that holds elements of the type one by one.
uint32_t typed_field(DataType type) {
  switch (type) {
    case DataType::Float:
      return field::kFloat;
    case DataType::Double:
      return field::kDouble;
    case DataType::Complex64:
      return field::kComplex;
    case DataType::Complex128:
      return field::kDoubleComplex;
    case DataType::Int64:
      return field::kInt64;
    case DataType::Bool:
      return field::kBool;
    case DataType::Half:
    case DataType::Bfloat16:
      return field::kHalf;
    case DataType::Uint32:
      return field::kUint32;
    case DataType::Uint64:
      return field::kUint64;
    case DataType::Float8E5M2:
    case DataType::Float8E4M3FN:
      return field::kFloat8;
    default:
      return field::kInt;
  }
}

// Appends the field's numbers as elements of Stored; at most `max` of them.
template <class Wire, class Stored>
Result<std::vector<std::byte>> numbers(Bytes message, uint32_t tag, size_t max) {
  std::vector<Wire> values;
  for (Reader r(message); r.next();) {
    if (r.tag() != tag) {
      r.skip();
    } else if (!r.append(values, max)) {
      return Error(Code::BadTensorData, "a tensor has more values than elements");
    }
  }
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto stored = static_cast<Stored>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

Result<std::vector<std::byte>> raw_field(Bytes message, uint32_t tag, size_t max) {
  Bytes content;
  for (Reader r(message); r.next();) {
    if (r.tag() == tag)
      r.read(content);
    else
      r.skip();
  }
  if (content.size() > max)
    return Error(Code::BadTensorData, "a tensor has more values than elements");
  std::vector<std::byte> bytes(content.size());
  if (!content.empty()) std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
}

Result<std::vector<std::byte>> typed_values(const Tensor& tensor, size_t count) {
  const uint32_t tag = typed_field(tensor.type);
  const Bytes message = tensor.message;
  switch (tensor.type) {
    case DataType::Float:
      return numbers<float, float>(message, tag, count);
    case DataType::Complex64:
      return numbers<float, float>(message, tag, 2 * count);
    case DataType::Double:
      return numbers<double, double>(message, tag, count);
    case DataType::Complex128:
      return numbers<double, double>(message, tag, 2 * count);
    case DataType::Float8E5M2:
    case DataType::Float8E4M3FN:
      return raw_field(message, tag, count);
    default:
      break;
  }
  switch (element_bytes(tensor.type)) {
    case 1:
      return numbers<int64_t, uint8_t>(message, tag, count);
    case 2:
      return numbers<int64_t, uint16_t>(message, tag, count);
    case 4:
      return numbers<int64_t, uint32_t>(message, tag, count);
    default:
      return numbers<int64_t, int64_t>(message, tag, count);
  }
}

// Bytes that tensors of a file may take where they are no part of it.
size_t max_converted(size_t file_size) { return (size_t{64} << 20) + 4 * file_size; }

}  // namespace

size_t element_bytes(DataType type) {
  switch (type) {
    case DataType::Uint8:
    case DataType::Int8:
    case DataType::Bool:
    case DataType::Qint8:
    case DataType::Quint8:
    case DataType::Float8E5M2:
    case DataType::Float8E4M3FN:
    case DataType::Int4:
    case DataType::Uint4:
      return 1;
    case DataType::Int16:
    case DataType::Uint16:
    case DataType::Half:
    case DataType::Bfloat16:
      return 2;
    case DataType::Float:
    case DataType::Int32:
    case DataType::Uint32:
    case DataType::Qint32:
      return 4;
    case DataType::Double:
    case DataType::Int64:
    case DataType::Uint64:
    case DataType::Complex64:
      return 8;
    case DataType::Complex128:
      return 16;
    default:
      return 0;
  }
}

std::optional<size_t> tensor_bytes(DataType type, std::span<const int64_t> dims) {
  const size_t width = element_bytes(type);
  const auto extent = checked_extent(dims, static_cast<int64_t>(std::max<size_t>(width, 1)));
  if (!extent || width == 0) return std::nullopt;
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  return empty ? 0 : static_cast<size_t>(*extent);
}

Result<Blob> TensorReader::read(const Tensor& tensor) {
  const auto size = tensor_bytes(tensor.type, tensor.dims);
  if (!size) {
    if (element_bytes(tensor.type) == 0)
      return Error(Code::UnsupportedType, "a constant of type " + data_type_name(tensor.type));
    return Error(Code::TooLarge, "a constant is too large");
  }
  if (*size == 0) return Blob();
  if (tensor.content.size() == *size) {
    const auto* start = reinterpret_cast<const char*>(file_.span().data());
    EC_TRY(Blob data, file_.later(static_cast<size_t>(tensor.content.data() - start), *size));
    data = without_upper_bits(tensor.type, std::move(data));
    if (data.size() != *size) return Error(Code::OutOfMemory, "no memory for a constant");
    return data;
  }
  if (!tensor.content.empty())
    return Error(Code::BadTensorData, "a constant has " + std::to_string(tensor.content.size()) +
                                          " bytes, its shape and type need " +
                                          std::to_string(*size));
  const size_t limit = max_converted(file_.size());
  if (*size > limit || converted_ > limit - *size)
    return Error(Code::TooLarge, "the constants are much larger than the file")
        .hint("the file is damaged or was made to exhaust memory");
  converted_ += *size;
  const size_t width = element_bytes(tensor.type);
  EC_TRY(const std::vector<std::byte> values,
         wire::guarded([&] { return typed_values(tensor, *size / width); }));
  Buffer buffer = Buffer::allocate(*size);
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a constant");
  if (values.size() % width != 0) return Error(Code::BadTensorData, "a constant has half a value");
  std::copy(values.begin(), values.end(), buffer.data());
  // The last value stands for all that follow; no value at all for zeros.
  if (!values.empty()) {
    const std::byte* last = values.data() + values.size() - width;
    for (size_t at = values.size(); at < *size; at += width)
      std::memcpy(buffer.data() + at, last, width);
  }
  return without_upper_bits(tensor.type, std::move(buffer).to_blob());
}

Result<std::vector<std::string_view>> tensor_texts(const Tensor& tensor, size_t max) {
  return wire::guarded([&]() -> Result<std::vector<std::string_view>> {
    std::vector<std::string_view> texts;
    for (Reader r(tensor.message); r.next();) {
      if (r.tag() != field::kString)
        r.skip();
      else if (!r.append(texts, max))
        return Error(Code::TooLarge, "a constant has too many texts");
    }
    return texts;
  });
}

}  // namespace ec::tf
