#include "formats/onnx/tensor_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "formats/onnx/fields.h"
#include "formats/protobuf/wire.h"
#include "support/strings.h"

namespace ec::onnx {

static_assert(std::endian::native == std::endian::little, "raw data is used in place");

namespace {

constexpr std::array kDataTypes = {
    DataTypeInfo{DataType::Float, "FLOAT", "f32", 32, false},
    DataTypeInfo{DataType::Uint8, "UINT8", "u8", 8, false},
    DataTypeInfo{DataType::Int8, "INT8", "i8", 8, true},
    DataTypeInfo{DataType::Uint16, "UINT16", "u16", 16, false},
    DataTypeInfo{DataType::Int16, "INT16", "i16", 16, true},
    DataTypeInfo{DataType::Int32, "INT32", "i32", 32, true},
    DataTypeInfo{DataType::Int64, "INT64", "i64", 64, true},
    DataTypeInfo{DataType::String, "STRING", "", 0, false},
    DataTypeInfo{DataType::Bool, "BOOL", "bool", 8, false},
    DataTypeInfo{DataType::Float16, "FLOAT16", "f16", 16, false},
    DataTypeInfo{DataType::Double, "DOUBLE", "f64", 64, false},
    DataTypeInfo{DataType::Uint32, "UINT32", "u32", 32, false},
    DataTypeInfo{DataType::Uint64, "UINT64", "u64", 64, false},
    DataTypeInfo{DataType::Complex64, "COMPLEX64", "", 64, false},
    DataTypeInfo{DataType::Complex128, "COMPLEX128", "", 128, false},
    DataTypeInfo{DataType::Bfloat16, "BFLOAT16", "bf16", 16, false},
    DataTypeInfo{DataType::Float8E4M3FN, "FLOAT8E4M3FN", "f8e4m3fn", 8, false},
    DataTypeInfo{DataType::Float8E4M3FNUZ, "FLOAT8E4M3FNUZ", "f8e4m3fnuz", 8, false},
    DataTypeInfo{DataType::Float8E5M2, "FLOAT8E5M2", "f8e5m2", 8, false},
    DataTypeInfo{DataType::Float8E5M2FNUZ, "FLOAT8E5M2FNUZ", "f8e5m2fnuz", 8, false},
    DataTypeInfo{DataType::Uint4, "UINT4", "u4", 4, false},
    DataTypeInfo{DataType::Int4, "INT4", "i4", 4, true},
    DataTypeInfo{DataType::Float4E2M1, "FLOAT4E2M1", "f4e2m1", 4, false},
    DataTypeInfo{DataType::Float8E8M0, "FLOAT8E8M0", "f8e8m0", 8, false},
    DataTypeInfo{DataType::Uint2, "UINT2", "u2", 2, false},
    DataTypeInfo{DataType::Int2, "INT2", "i2", 2, true},
};

Error bad_data(const Tensor& tensor, const std::string& what) {
  return Error(Code::BadTensorData, "tensor '" + printable(tensor.name) + "' " + what)
      .hint("the file is damaged, or its writer is at fault: export it again");
}

Error no_memory(const Tensor& tensor, size_t size) {
  return Error(Code::OutOfMemory, "tensor '" + printable(tensor.name) + "' needs " +
                                      std::to_string(size) + " bytes of memory");
}

// Bytes of the stored form.
std::optional<size_t> stored_size(const DataTypeInfo& info, int64_t count) {
  if (info.bits >= 8) {
    size_t size = 0;
    if (__builtin_mul_overflow(static_cast<size_t>(count), static_cast<size_t>(info.bits / 8),
                               &size))
      return std::nullopt;
    return size;
  }
  const auto per_byte = static_cast<int64_t>(8 / info.bits);
  return static_cast<size_t>(count / per_byte + (count % per_byte != 0 ? 1 : 0));
}

// Element i of packed data; the first element is in the low bits.
uint8_t packed_element(const std::byte* packed, size_t i, const DataTypeInfo& info) {
  const auto per_byte = static_cast<size_t>(8 / info.bits);
  const auto bits = static_cast<unsigned>(info.bits);
  const unsigned mask = (1u << bits) - 1;
  unsigned value = static_cast<unsigned>(packed[i / per_byte]) >> (i % per_byte * bits) & mask;
  if (info.is_signed && (value & (1u << (bits - 1))) != 0) value |= ~mask;
  return static_cast<uint8_t>(value);
}

// A bool of another byte than 0 and 1 would not be one to the machine.
bool has_odd_bools(std::span<const std::byte> bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
}

// The typed field that holds elements of this type, and the bytes each of its items stands for.
struct TypedField {
  uint32_t tag;
  size_t item_size;  // of fixed-size items; 0: varints
};

TypedField typed_field(DataType type) {
  switch (type) {
    case DataType::Float:
      return {field::tensor::kFloatData, sizeof(float)};
    case DataType::Double:
      return {field::tensor::kDoubleData, sizeof(double)};
    case DataType::Int64:
      return {field::tensor::kInt64Data, 0};
    case DataType::Uint32:
    case DataType::Uint64:
      return {field::tensor::kUint64Data, 0};
    default:
      return {field::tensor::kInt32Data, 0};
  }
}

// Writes the items of a typed field, each cut to its element's bytes.
class TypedSink {
 public:
  TypedSink(std::span<std::byte> out, size_t element_size) : out_(out), size_(element_size) {}
  void put(uint64_t bits) {
    if (at_ + size_ <= out_.size()) std::memcpy(out_.data() + at_, &bits, size_);
    at_ += size_;
  }
  void put_run(Bytes run) {
    if (at_ <= out_.size() && run.size() <= out_.size() - at_ && !run.empty())
      std::memcpy(out_.data() + at_, run.data(), run.size());
    at_ += run.size();
  }
  size_t written() const { return at_; }

 private:
  std::span<std::byte> out_;
  size_t size_;
  size_t at_ = 0;
};

void read_typed(Bytes message, const TypedField& typed, TypedSink& sink) {
  using protozero::pbf_wire_type;
  protozero::pbf_reader r(message.data(), message.size());
  while (r.next()) {
    if (r.tag() != typed.tag) {
      r.skip();
      continue;
    }
    if (r.has_wire_type(pbf_wire_type::length_delimited)) {
      const auto view = r.get_view();
      if (typed.item_size != 0) {
        sink.put_run({view.data(), view.size()});
        continue;
      }
      const char* at = view.data();
      const char* const end = at + view.size();
      while (at != end) sink.put(protozero::decode_varint(&at, end));
    } else if (typed.item_size == 0 && r.has_wire_type(pbf_wire_type::varint)) {
      sink.put(r.get_uint64());
    } else if (typed.item_size == 4 && r.has_wire_type(pbf_wire_type::fixed32)) {
      sink.put(r.get_fixed32());
    } else if (typed.item_size == 8 && r.has_wire_type(pbf_wire_type::fixed64)) {
      sink.put(r.get_fixed64());
    } else {
      r.skip();
    }
  }
}

// What may leave its stored form besides the file's own size.
constexpr size_t kSlack = size_t{16} << 20;

Error too_large(const Tensor& tensor, const std::string& why) {
  return Error(Code::TooLarge, "tensor '" + printable(tensor.name) + "' " + why)
      .hint("store the tensor as raw_data, and once: no exporter writes such files");
}

}  // namespace

const DataTypeInfo* find_data_type(DataType type) {
  for (const DataTypeInfo& info : kDataTypes)
    if (info.type == type) return &info;
  return nullptr;
}

const DataTypeInfo* find_data_type(std::string_view element) {
  for (const DataTypeInfo& info : kDataTypes)
    if (!element.empty() && info.element == element) return &info;
  return nullptr;
}

std::string data_type_name(DataType type) {
  const DataTypeInfo* info = find_data_type(type);
  return info != nullptr ? std::string(info->name)
                         : "data type " + std::to_string(static_cast<int32_t>(type));
}

std::optional<int64_t> count_elements(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  return count;
}

size_t TensorReader::file_bytes() const {
  return file_.size() + (external_ == nullptr ? 0 : external_->file_bytes());
}

Status TensorReader::charge_converted(const Tensor& tensor, size_t bytes) {
  const size_t limit = file_bytes() + kSlack;
  if (bytes > limit - std::min(limit, converted_))
    return too_large(tensor, "needs " + std::to_string(bytes) +
                                 " bytes in memory: together with those before it more than the "
                                 "size of the file allows");
  converted_ += bytes;
  return {};
}

// Elements of 4 and 2 bits take a byte each in memory, so files full of them grow by 2 or 4.
Status TensorReader::charge_unpacked(const Tensor& tensor, size_t bytes) {
  const size_t limit = 4 * file_bytes() + kSlack / 2;
  if (bytes > limit - std::min(limit, unpacked_))
    return too_large(tensor, "unpacks to " + std::to_string(bytes) +
                                 " bytes: together with those before it more than the size of the "
                                 "file allows");
  unpacked_ += bytes;
  return {};
}

// A typed item takes at least one byte of the file, so elements cannot outnumber the bytes.
Result<Blob> TensorReader::typed(const Tensor& tensor, const DataTypeInfo& info, size_t size) {
  const Key key(tensor.message.data(), size, info.type);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const size_t element = info.bits < 8 ? 1 : static_cast<size_t>(info.bits / 8);
  if (size / element > tensor.message.size())
    return bad_data(tensor, "has fewer elements than its shape needs");
  EC_CHECK_OK(charge_converted(tensor, size));
  Buffer out = Buffer::allocate(size);
  if (!out.ok()) return no_memory(tensor, size);
  TypedSink sink(out.bytes(), element);
  EC_CHECK_OK(wire::guarded([&]() -> Status {
    read_typed(tensor.message, typed_field(info.type), sink);
    return {};
  }));
  if (sink.written() != size)
    return bad_data(tensor, "has " + std::to_string(sink.written() / element) +
                                " stored elements, its shape needs " +
                                std::to_string(size / element));
  return known_[key] = std::move(out).to_blob();
}

Result<Blob> TensorReader::stored(const Tensor& tensor, const DataTypeInfo& info, size_t size) {
  if (tensor.external) {
    if (external_ == nullptr)
      return Error(Code::ExternalDataInvalid, "tensor '" + printable(tensor.name) +
                                                  "' refers to a file where none is allowed");
    return external_->bytes(tensor, size);
  }
  if (!tensor.raw_data) return typed(tensor, info, size);
  if (tensor.raw_data->size() != size) {
    return bad_data(tensor, "has " + std::to_string(tensor.raw_data->size()) +
                                " bytes, its shape and type need " + std::to_string(size));
  }
  if (size == 0) return Blob();
  const auto* start = reinterpret_cast<const std::byte*>(tensor.raw_data->data());
  return file_.slice(static_cast<size_t>(start - file_.bytes().data()), size);
}

Result<Blob> TensorReader::memory_form(const Tensor& tensor, const DataTypeInfo& info,
                                       const Blob& stored, size_t count) {
  if (info.bits < 8) {
    EC_CHECK_OK(charge_unpacked(tensor, count));
    Buffer out = Buffer::allocate(count);
    if (!out.ok()) return no_memory(tensor, count);
    for (size_t i = 0; i < count; ++i)
      out.data()[i] = static_cast<std::byte>(packed_element(stored.bytes().data(), i, info));
    return std::move(out).to_blob();
  }
  if (info.type == DataType::Bool && has_odd_bools(stored.bytes())) {
    EC_CHECK_OK(charge_converted(tensor, stored.size()));
    Buffer out = Buffer::allocate(stored.size());
    if (!out.ok()) return no_memory(tensor, stored.size());
    std::transform(stored.bytes().begin(), stored.bytes().end(), out.data(),
                   [](std::byte b) { return b != std::byte{0} ? std::byte{1} : std::byte{0}; });
    return std::move(out).to_blob();
  }
  if (tensor.external) {
    // Ranges that overlap would be copied one by one where a copy is needed later.
    const size_t limit = 2 * file_bytes() + kSlack;
    if (stored.size() > limit - std::min(limit, referenced_))
      return too_large(tensor, "names a part of a file that other tensors name, too");
    referenced_ += stored.size();
  }
  return stored;
}

Result<Blob> TensorReader::read(const Tensor& tensor) {
  const DataTypeInfo* info = find_data_type(tensor.data_type);
  if (info == nullptr)
    return bad_data(tensor, "has no valid element type (" +
                                std::to_string(static_cast<int32_t>(tensor.data_type)) + ")");
  if (info->element.empty())
    return Error(Code::UnsupportedType, "tensor '" + printable(tensor.name) +
                                            "' has elements of type " + std::string(info->name))
        .hint("only numbers and booleans are supported");
  const auto count = count_elements(tensor.dims);
  if (!count) return bad_data(tensor, "has a negative or impossibly large dimension");
  const auto size = stored_size(*info, *count);
  if (!size) return bad_data(tensor, "has an impossibly large dimension");
  EC_TRY(const Blob bytes, stored(tensor, *info, *size));
  if (bytes.empty()) return bytes;
  // The number of elements tells tensors apart whose last byte is filled differently.
  const Key key(bytes.bytes().data(), static_cast<size_t>(*count), info->type);
  if (const auto known = known_.find(key); known != known_.end()) {
    // Copies for alignment would be made for each tensor that shares the bytes.
    known->second = known->second.aligned();
    if (known->second.empty()) return no_memory(tensor, bytes.size());
    return known->second;
  }
  EC_TRY(Blob data, memory_form(tensor, *info, bytes, static_cast<size_t>(*count)));
  return known_[key] = std::move(data);
}

Result<Blob> TensorReader::read_dense(const SparseTensor& sparse) {
  const Tensor& values = sparse.values;
  EC_TRY(const Blob data, read(values));
  if (sparse.indices.data_type != DataType::Int64)
    return bad_data(values, "has sparse indices that are not INT64");
  EC_TRY(const Blob raw_indices, read(sparse.indices));
  const Blob index_blob = raw_indices.aligned();
  const std::span indices(reinterpret_cast<const int64_t*>(index_blob.bytes().data()),
                          index_blob.size() / sizeof(int64_t));
  const DataTypeInfo& info = *find_data_type(values.data_type);
  const size_t element = info.bits < 8 ? 1 : static_cast<size_t>(info.bits / 8);
  const auto count = count_elements(sparse.dims);
  if (!count) return bad_data(values, "has a negative or impossibly large dimension");
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(*count), element, &bytes))
    return bad_data(values, "has a negative or impossibly large dimension");
  EC_CHECK_OK(charge_converted(values, bytes));
  const size_t stored = data.size() / element;
  const size_t rank = sparse.dims.size();
  const bool coordinates = sparse.indices.dims.size() == 2;
  if (indices.size() != (coordinates ? stored * rank : stored))
    return bad_data(values, "has a number of sparse indices that does not fit its values");
  Buffer out = Buffer::allocate(bytes);
  if (!out.ok()) return no_memory(values, bytes);
  for (size_t i = 0; i < stored; ++i) {
    int64_t at = coordinates ? 0 : indices[i];
    for (size_t d = 0; coordinates && d < rank; ++d) {
      const int64_t index = indices[i * rank + d];
      if (index < 0 || index >= sparse.dims[d])
        return bad_data(values, "has a sparse index outside its shape");
      at = at * sparse.dims[d] + index;
    }
    if (at < 0 || at >= *count) return bad_data(values, "has a sparse index outside its shape");
    std::memcpy(out.data() + static_cast<size_t>(at) * element, data.bytes().data() + i * element,
                element);
  }
  return std::move(out).to_blob();
}

}  // namespace ec::onnx
