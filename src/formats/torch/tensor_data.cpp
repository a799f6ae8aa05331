#include "formats/torch/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "support/strings.h"

namespace ec::torch {
namespace {

constexpr std::array kElementTypes = {
    ElementType{"ByteStorage", 0, "u8", 1},
    ElementType{"CharStorage", 1, "i8", 1},
    ElementType{"ShortStorage", 2, "i16", 2},
    ElementType{"IntStorage", 3, "i32", 4},
    ElementType{"LongStorage", 4, "i64", 8},
    ElementType{"HalfStorage", 5, "f16", 2},
    ElementType{"FloatStorage", 6, "f32", 4},
    ElementType{"DoubleStorage", 7, "f64", 8},
    ElementType{"", 8, "", 4},
    ElementType{"ComplexFloatStorage", 9, "", 8},
    ElementType{"ComplexDoubleStorage", 10, "", 16},
    ElementType{"BoolStorage", 11, "bool", 1},
    ElementType{"QInt8Storage", 12, "i8", 1, true},
    ElementType{"QUInt8Storage", 13, "u8", 1, true},
    ElementType{"QInt32Storage", 14, "i32", 4, true},
    ElementType{"BFloat16Storage", 15, "bf16", 2},
    ElementType{"Float8_e5m2Storage", 23, "f8e5m2", 1},
    ElementType{"Float8_e4m3fnStorage", 24, "f8e4m3fn", 1},
    ElementType{"Float8_e5m2fnuzStorage", 25, "f8e5m2fnuz", 1},
    ElementType{"Float8_e4m3fnuzStorage", 26, "f8e4m3fnuz", 1},
    ElementType{"UInt16Storage", 27, "u16", 2},
    ElementType{"UInt32Storage", 28, "u32", 4},
    ElementType{"UInt64Storage", 29, "u64", 8},
    ElementType{"Float8_e8m0fnuStorage", 44, "f8e8m0", 1},
};

// No model has more dimensions; loops over them nest in this many counters.
constexpr size_t kMaxRank = 64;

Error corrupt(std::string what) {
  return Error(Code::CorruptFile, std::move(what))
      .hint("the archive is damaged: save the model again");
}

Error too_large() {
  return Error(Code::TooLarge, "the tensors of the archive exceed the limit for its size")
      .hint("the archive is damaged or hostile: save the model again");
}

Result<std::vector<int64_t>> ints(const Pickle& pickle, PickleRef tuple) {
  std::vector<int64_t> values;
  for (const PickleRef item : pickle[tuple].items) {
    if (pickle[item].kind != PickleKind::Int) return corrupt("a tensor's size is no integer");
    values.push_back(pickle[item].integer);
  }
  return values;
}

// The number of elements and the last one's position; an error when the view leaves the storage.
Result<size_t> check_view(const StridedView& view) {
  if (view.sizes.size() != view.strides.size() || view.sizes.size() > kMaxRank || view.offset < 0)
    return corrupt("a tensor's sizes and strides do not fit");
  int64_t count = 1, last = view.offset;
  bool overflow = false;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] < 0 || view.strides[i] < 0) return corrupt("a tensor of negative size");
    overflow |= __builtin_mul_overflow(count, view.sizes[i], &count);
  }
  if (count == 0 && !overflow) return size_t{0};
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  const uint64_t available = view.storage.size() / view.item_size;
  if (overflow || static_cast<uint64_t>(last) >= available)
    return corrupt("a tensor reaches beyond its storage");
  return static_cast<size_t>(count);
}

void copy_view(const StridedView& view, std::byte* out) {
  const size_t rank = view.sizes.size();
  const std::byte* base = view.storage.bytes().data();
  std::vector<int64_t> index(rank, 0);
  int64_t at = view.offset;
  const int64_t inner = rank == 0 ? 1 : view.sizes.back();
  const int64_t step = rank == 0 ? 0 : view.strides.back();
  for (;;) {
    for (int64_t i = 0; i < inner; ++i, out += view.item_size)
      std::memcpy(out, base + static_cast<size_t>(at + i * step) * view.item_size, view.item_size);
    size_t axis = rank < 2 ? 0 : rank - 1;
    while (axis-- > 0) {
      at += view.strides[axis];
      if (++index[axis] < view.sizes[axis]) break;
      at -= view.strides[axis] * view.sizes[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

void swap_bytes(std::byte* data, size_t size, size_t item) {
  for (size_t i = 0; i + item <= size; i += item) std::reverse(data + i, data + i + item);
}

}  // namespace

const ElementType* find_element_type(std::string_view storage) {
  for (const ElementType& type : kElementTypes)
    if (!storage.empty() && type.storage == storage) return &type;
  return nullptr;
}

const ElementType* find_element_type(int scalar_type) {
  for (const ElementType& type : kElementTypes)
    if (type.scalar_type == scalar_type) return &type;
  return nullptr;
}

bool is_row_major(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

Result<Blob> row_major_bytes(const StridedView& view, size_t& budget) {
  EC_TRY(const size_t count, check_view(view));
  if (count == 0) return Blob();
  size_t size = 0;
  if (__builtin_mul_overflow(count, view.item_size, &size)) return too_large();
  if (is_row_major(view.sizes, view.strides))
    return view.storage.slice(static_cast<size_t>(view.offset) * view.item_size, size);
  if (size > budget) return too_large();
  budget -= size;
  Buffer buffer = Buffer::allocate(size);
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a weight");
  copy_view(view, buffer.data());
  return std::move(buffer).to_blob();
}

TensorReader::TensorReader(const Archive& archive, const Pickle& pickle, std::string folder)
    : archive_(archive),
      pickle_(pickle),
      folder_(std::move(folder)),
      budget_((size_t{16} << 20) + archive.file_size()) {}

Result<TensorData> TensorReader::describe(const PickleNode& tensor) const {
  const PickleNode& storage = pickle_[tensor.items[0]];
  const std::string& global = pickle_[storage.items[0]].text;
  TensorData data;
  data.type = find_element_type(std::string_view(global).substr(global.find(' ') + 1));
  if (data.type == nullptr)
    return Error(Code::UnsupportedType,
                 fmt::format("a tensor of '{}'", printable(dotted_name(global))));
  EC_TRY(data.sizes, ints(pickle_, tensor.items[2]));
  for (const int64_t size : data.sizes)
    if (size < 0) return corrupt("a tensor of negative size");
  data.storage_key = folder_ + "/" + pickle_[storage.items[1]].text;
  return data;
}

Result<Blob> TensorReader::storage(const PickleNode& node, const ElementType& type) {
  const std::string name = folder_ + "/" + pickle_[node.items[1]].text;
  if (const auto found = storages_.find(name); found != storages_.end()) return found->second;
  EC_TRY(Blob bytes, archive_.map(name));
  if (!archive_.little_endian() && type.bytes > 1) {
    if (bytes.size() > budget_) return too_large();
    budget_ -= bytes.size();
    Buffer buffer = Buffer::allocate(bytes.size());
    if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a weight");
    std::memcpy(buffer.data(), bytes.bytes().data(), bytes.size());
    swap_bytes(buffer.data(), buffer.size(), type.bytes);
    bytes = std::move(buffer).to_blob();
  }
  storages_.emplace(name, bytes);
  return bytes;
}

// (per_tensor_affine, scale, zero point) or (per_channel_affine, scales, zero points, axis)
Result<QuantizedWith> TensorReader::read_quantization(const PickleNode& parameters) {
  const auto item = [&](size_t i) -> const PickleNode& { return pickle_[parameters.items[i]]; };
  const size_t count = parameters.items.size();
  QuantizedWith quant;
  if (count == 3 && item(1).kind == PickleKind::Float && item(2).kind == PickleKind::Int) {
    quant.scales = {item(1).real};
    quant.zero_points = {item(2).integer};
    return quant;
  }
  if (count != 4 || item(1).kind != PickleKind::Tensor || item(2).kind != PickleKind::Tensor ||
      item(3).kind != PickleKind::Int)
    return corrupt("a tensor is quantised in an unknown way");
  if (item(1).items.size() != 4 || item(2).items.size() != 4)
    return corrupt("scales and zero points are quantised themselves");
  EC_TRY(const TensorData scales, read(item(1)));
  EC_TRY(const TensorData zero_points, read(item(2)));
  quant.axis = item(3).integer;
  if (scales.type->element != "f64" || zero_points.type->element != "i64")
    return Error(Code::UnsupportedType, "scales of a quantised weight are not f64 with i64 zeros");
  quant.scales.resize(scales.bytes.size() / sizeof(double));
  quant.zero_points.resize(zero_points.bytes.size() / sizeof(int64_t));
  if (quant.scales.empty() || quant.scales.size() != quant.zero_points.size())
    return corrupt("a quantised weight has not as many scales as zero points");
  std::memcpy(quant.scales.data(), scales.bytes.bytes().data(), scales.bytes.size());
  std::memcpy(quant.zero_points.data(), zero_points.bytes.bytes().data(), zero_points.bytes.size());
  return quant;
}

Result<TensorData> TensorReader::read(const PickleNode& tensor) {
  EC_TRY(TensorData data, describe(tensor));
  const PickleNode& offset = pickle_[tensor.items[1]];
  StridedView view;
  view.item_size = data.type->bytes;
  view.offset = offset.integer;
  view.sizes = data.sizes;
  EC_TRY(view.strides, ints(pickle_, tensor.items[3]));
  EC_TRY(view.storage, storage(pickle_[tensor.items[0]], *data.type));
  EC_TRY(data.bytes, row_major_bytes(view, budget_));
  if (tensor.items.size() > 4) {
    EC_TRY(data.quant, read_quantization(pickle_[tensor.items[4]]));
    const int64_t axis = data.quant->axis;
    if (axis >= 0 &&
        (axis >= static_cast<int64_t>(data.sizes.size()) ||
         data.sizes[static_cast<size_t>(axis)] != static_cast<int64_t>(data.quant->scales.size())))
      return corrupt("a weight's scales do not fit its channels");
  }
  return data;
}

}  // namespace ec::torch
