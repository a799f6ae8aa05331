#include "fuzz/op/coreml_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace ec::fuzz {

using coreml::DataType;
using coreml::ValueType;

namespace {

constexpr int64_t kMostElements = 1024;

Blob blob_of(const std::string& bytes) { return Blob::copy_of(std::span<const char>(bytes)); }

}  // namespace

CoremlValues::CoremlValues(RandomSource& random)
    : random_(random),
      is_odd_(random.chance(50)),
      size_(random.one_of<int64_t>({1, 2, 2, 3, 4})),
      rank_(random.one_of<int64_t>({0, 1, 2, 3, 3, 4, 4, 5})),
      real_(random.chance(80) ? DataType::Float32 : DataType::Float16) {}

DataType CoremlValues::any_type() {
  using enum DataType;
  if (random_.chance(75)) return real_;
  if (!odd(30)) return random_.one_of({Int32, Int32, Bool, Int8, UInt8, Float16});
  return random_.one_of({String, Float64, BFloat16,     Int16,     Int64, Int4,
                         UInt16, UInt32,  UInt64,       UInt4,     UInt2, UInt1,
                         UInt6,  UInt3,   Float32,      Float16,   Int8,  UInt8,
                         Bool,   Int32,   Float8E4M3FN, Float8E5M2});
}

int64_t CoremlValues::any_rank() {
  return random_.chance(65) ? rank_ : random_.pick(0, random_.chance(85) ? 5 : 8);
}

std::vector<int64_t> CoremlValues::dims(int64_t rank) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d)
    dims.push_back(random_.chance(85) ? size_ : odd(12) ? 0 : random_.pick(1, 5));
  return dims;
}

std::vector<int64_t> CoremlValues::declared_dims(std::vector<int64_t> dims) {
  for (int64_t& dim : dims) {
    if (random_.chance(5)) dim = coreml::kUnknownSize;
    if (odd(2))
      dim = random_.one_of<int64_t>({int64_t{1} << 31, int64_t{1} << 40, -2, 65536, 1 << 20,
                                     int64_t{1} << 46, int64_t{1} << 32});
  }
  return dims;
}

ValueType CoremlValues::any_value_type() {
  ValueType type = ValueType::tensor(any_type(), declared_dims(dims(any_rank())));
  if (random_.chance(70)) return type;
  type.variadic = random_.chance(40);
  if (random_.chance(50)) return type;
  ValueType outer;
  outer.kind = random_.one_of({ValueType::Kind::List, ValueType::Kind::Tuple,
                               ValueType::Kind::Dictionary, ValueType::Kind::State});
  outer.nested.assign(static_cast<size_t>(random_.pick(0, 3)), type);
  outer.list_length = random_.chance(50) ? coreml::kUnknownSize : number();
  return outer;
}

int64_t CoremlValues::number() {
  if (!odd(30)) return random_.pick(-2, 5);
  return random_.one_of<int64_t>({INT64_MIN, INT64_MAX, INT64_MAX - 1, INT64_MIN + 1, INT32_MIN,
                                  INT32_MAX, int64_t{1} << 40, int64_t{1} << 31, 1000, -1000, 65536,
                                  1 << 20, 1 << 30});
}

float CoremlValues::real() {
  if (!odd(35)) return static_cast<float>(random_.pick(-8, 8)) / 4;
  return random_.one_of<float>(
      {0.0f, -0.0f, 1e30f, -1e30f, 1e-30f, INFINITY, -INFINITY, NAN, 1e-45f, 1e6f, 999999.0f});
}

coreml::Value CoremlValues::tensor(DataType type, std::vector<int64_t> dims) {
  static const std::vector<uint16_t> kHalves = {0x0000, 0x3C00, 0xBC00, 0x4000, 0x3800, 0x3C00,
                                                0xB800, 0x7C00, 0x7E00, 0x0001, 0x8000, 0x7BFF};
  coreml::Value value;
  int64_t count = 1;
  for (int64_t& dim : dims) {
    if (dim > 0 && count * dim > kMostElements) dim = 1;
    count *= std::max<int64_t>(dim, 0);
  }
  value.type = ValueType::tensor(type, dims);
  if (type == DataType::String) {
    for (int64_t i = 0; i < count; ++i) value.strings.push_back(random_.one_of({"a", "", "b"}));
    return value;
  }
  const int bits = coreml::bits_of(type);
  const bool plain = !odd(40);  // without numbers near the borders
  std::string bytes;
  for (int64_t i = 0; i < count && bits >= 8; ++i) {
    auto word = static_cast<uint64_t>(plain ? random_.pick(0, 3) : number());
    if (type == DataType::Float32)
      word = std::bit_cast<uint32_t>(plain ? static_cast<float>(random_.pick(-8, 8)) / 4 : real());
    if (type == DataType::Float64)
      word = std::bit_cast<uint64_t>(static_cast<double>(plain ? 0.5f : real()));
    if (type == DataType::Float16)
      word = plain ? kHalves[random_.index(7)] : random_.one_of(kHalves);
    if (type == DataType::Bool) word &= 1;
    bytes.append(reinterpret_cast<const char*>(&word), static_cast<size_t>(bits / 8));
  }
  if (bits < 8)
    for (int64_t i = 0; i < (count * bits + 7) / 8; ++i)
      bytes.push_back(static_cast<char>(plain && bits == 1 ? 0xFF : random_.pick(-128, 127)));
  if (odd(1)) bytes.append(static_cast<size_t>(random_.pick(1, 9)), '\1');
  if (odd(1) && !bytes.empty()) bytes.pop_back();
  value.data = blob_of(bytes);
  return value;
}

coreml::Value CoremlValues::integers(const std::vector<int64_t>& values, bool scalar) {
  // Numbers that need it are stored in 64 bits; readers take every type of integers.
  const bool wide = std::ranges::any_of(
      values, [](int64_t value) { return value != static_cast<int32_t>(value); });
  DataType type = wide && random_.chance(80) ? DataType::Int64 : DataType::Int32;
  if (odd(6))
    type = random_.one_of({DataType::Int64, DataType::Int8, DataType::UInt16, DataType::UInt64,
                           DataType::UInt32, DataType::Bool, DataType::Float32, DataType::Int16});
  coreml::Value value;
  value.type =
      ValueType::tensor(type, scalar ? std::vector<int64_t>()
                                     : std::vector<int64_t>{static_cast<int64_t>(values.size())});
  std::string bytes;
  for (int64_t number : values) {
    if (type == DataType::Bool) number &= 1;
    bytes.append(reinterpret_cast<const char*>(&number),
                 static_cast<size_t>(coreml::bits_of(type) / 8));
  }
  value.data = blob_of(bytes);
  if (odd(2)) value.type.dims.push_back(1);
  return value;
}

coreml::Value CoremlValues::number_of(DataType type, double number) {
  coreml::Value value;
  value.type = ValueType::tensor(DataType::Float32);
  const auto single = static_cast<float>(number);
  std::string bytes(reinterpret_cast<const char*>(&single), sizeof single);
  if (type == DataType::Float16) {
    value.type.element = DataType::Float16;
    const uint16_t half = random_.one_of<uint16_t>({0x3C00, 0x3800, 0x4000, 0x0000, 0xBC00});
    bytes.assign(reinterpret_cast<const char*>(&half), sizeof half);
  }
  value.data = blob_of(bytes);
  return value;
}

coreml::Value CoremlValues::flag(bool on) {
  coreml::Value value;
  value.type = ValueType::tensor(DataType::Bool);
  value.data = blob_of(std::string(1, on ? '\1' : '\0'));
  return value;
}

coreml::Value CoremlValues::text(std::string text) {
  coreml::Value value;
  value.type = ValueType::tensor(DataType::String);
  value.strings.push_back(std::move(text));
  return value;
}

coreml::Value CoremlValues::odd_value() {
  coreml::Value value = tensor(any_type(), dims(any_rank()));
  if (random_.chance(50)) value.type = any_value_type();
  for (int64_t i = value.type.kind == ValueType::Kind::Tensor ? 0 : random_.pick(0, 3); i > 0; --i)
    value.items.push_back(random_.chance(50) ? integers({number(), number()}) : text("a"));
  return value;
}

}  // namespace ec::fuzz
