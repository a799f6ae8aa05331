#include "fuzz/op/tensorflow_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <protozero/pbf_writer.hpp>

#include "formats/tensorflow/table.h"
#include "frontend/tensorflow/graph_writer.h"

namespace ec::fuzz {
namespace {

using tf::DataType;

size_t width_of(DataType type) {
  using enum DataType;
  switch (type) {
    case Float:
    case Int32:
    case Uint32:
      return 4;
    case Int64:
    case Uint64:
    case Double:
    case Complex64:
      return 8;
    case Complex128:
      return 16;
    case Half:
    case Bfloat16:
    case Int16:
    case Uint16:
      return 2;
    default:
      return 1;
  }
}

// --- the table of a checkpoint: one block of entries, and an index of that block

std::string varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}
std::string entry(const std::string& key, const std::string& value) {
  return varint(0) + varint(key.size()) + varint(value.size()) + key + value;
}
// Appends a block; its place.
std::string add_block(std::string& file, std::string entries) {
  entries += std::string("\0\0\0\0\1\0\0\0", 8);
  const std::string place = varint(file.size()) + varint(entries.size());
  entries += '\0';  // not compressed
  const uint32_t crc = tf::masked_crc32c(entries);
  file += entries;
  for (int i = 0; i < 4; ++i) file += static_cast<char>(crc >> (8 * i));
  return place;
}

}  // namespace

int64_t TensorflowNumbers::number() {
  if (random_.chance(80)) return random_.pick(-3, 5);
  return random_.one_of<int64_t>({INT64_MIN, INT64_MAX, INT64_MAX - 1, int64_t{1} << 62,
                                  int64_t{1} << 40, int64_t{1} << 31, -(int64_t{1} << 31),
                                  int64_t{1} << 24, 65536, 1000, -1000});
}
float TensorflowNumbers::real() {
  if (random_.chance(80)) return static_cast<float>(random_.pick(-8, 8)) / 4;
  return random_.one_of<float>(
      {0.0f, -0.0f, 1e30f, 3e38f, -3e38f, 1e-30f, INFINITY, -INFINITY, NAN, 1e-45f});
}
DataType TensorflowNumbers::any_type() {
  using enum DataType;
  if (random_.chance(60)) return Float;
  if (random_.chance(92))
    return random_.one_of({Int32, Int32, Int64, Bool, Half, Double, Int8, Uint8, Complex64});
  return static_cast<DataType>(random_.pick(-1, 32));
}
Dims TensorflowNumbers::any_dims() {
  Dims dims;
  for (int64_t d = random_.pick(0, random_.chance(85) ? 4 : 7); d > 0; --d)
    dims.push_back(random_.chance(4) ? 0 : random_.pick(1, 5));
  return dims;
}

std::string TensorflowNumbers::element(DataType type, int64_t integer, float number) {
  uint64_t word = static_cast<uint64_t>(integer);
  if (type == DataType::Float || type == DataType::Complex64)
    word = std::bit_cast<uint32_t>(number);
  if (type == DataType::Double || type == DataType::Complex128)
    word = std::bit_cast<uint64_t>(static_cast<double>(number));
  if (type == DataType::Half) word = integer % 2 == 0 ? 0x3C00 : 0xB800;
  if (type == DataType::Bfloat16) word = std::bit_cast<uint32_t>(number) >> 16;
  if (type == DataType::Bool) word &= 1;
  std::string bytes(reinterpret_cast<const char*>(&word), std::min<size_t>(width_of(type), 8));
  bytes.resize(width_of(type), '\0');
  return bytes;
}

int64_t TensorflowNumbers::count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

void add_checkpoint(TensorflowNumbers& numbers, Model& model) {
  RandomSource& random = numbers.random_;
  std::string header, data;
  protozero::pbf_writer(header).add_int32(1, 1);
  std::string entries = entry("", header);
  for (int i = 0; i < 3; ++i) {
    const Dims dims = random.chance(60) ? Dims{2, 3} : numbers.any_dims();
    const DataType type = random.chance(80) ? DataType::Float : numbers.any_type();
    std::string bytes, stored;
    for (int64_t n = numbers.count_of(dims); n > 0; --n) {
      const int64_t integer = numbers.number();
      bytes += numbers.element(type, integer, numbers.real());
    }
    protozero::pbf_writer writer(stored);
    writer.add_int32(1, static_cast<int32_t>(type));
    writer.add_bytes(2, tf::testing::shape(dims));
    writer.add_int64(4, random.chance(97) ? static_cast<int64_t>(data.size()) : numbers.number());
    writer.add_int64(5, random.chance(97) ? static_cast<int64_t>(bytes.size()) : numbers.number());
    entries += entry("w" + std::to_string(i), stored);
    data += bytes;
  }
  std::string file;
  const std::string block = add_block(file, entries), meta = add_block(file, "");
  std::string footer = meta + add_block(file, entry("zz", block));
  footer.resize(40, '\0');
  model.files.push_back(
      {"variables/variables.index", file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"});
  model.files.push_back({"variables/variables.data-00000-of-00001", data});
}

}  // namespace ec::fuzz
