#include "passes/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ec {
namespace {

uint64_t hash_bytes(uint64_t seed, std::span<const std::byte> bytes) {
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    seed = hash_mix(seed, word);
    bytes = bytes.subspan(8);
  }
  uint64_t tail = bytes.size();
  for (const std::byte byte : bytes) tail = (tail << 8) | std::to_integer<uint64_t>(byte);
  return hash_mix(seed, tail);
}

uint64_t hash_value(uint64_t seed, const std::string& text) {
  return hash_bytes(seed, std::as_bytes(std::span(text)));
}
uint64_t hash_value(uint64_t seed, int64_t value) {
  return hash_mix(seed, static_cast<uint64_t>(value));
}
uint64_t hash_value(uint64_t seed, double value) {
  // 0.0 and -0.0 compare equal.
  return hash_mix(seed, std::bit_cast<uint64_t>(value == 0 ? 0.0 : value));
}
uint64_t hash_value(uint64_t seed, bool value) { return hash_mix(seed, value ? 1 : 2); }
template <class T>
uint64_t hash_value(uint64_t seed, const std::vector<T>& values) {
  seed = hash_mix(seed, values.size());
  for (const T& value : values) seed = hash_value(seed, value);
  return seed;
}

}  // namespace

uint64_t hash_attrs(const Attrs& attrs) {
  uint64_t hash = hash_bytes(0, std::as_bytes(std::span(attrs.schema().name)));
  for (const Field& field : attrs.schema().fields)
    std::visit([&](const auto& value) { hash = hash_value(hash, value); }, attrs.get(field));
  return hash;
}

uint64_t hash_type(const TensorType& type) {
  uint64_t hash = static_cast<uint64_t>(type.dtype);
  for (const Dim& dim : *type.shape) hash = hash_value(hash, dim.size());
  return hash;
}

uint64_t hash_constant(const Tensor& tensor) {
  constexpr size_t kWhole = 1024, kPiece = 64;
  const uint64_t hash = hash_type(tensor.type());
  const std::span<const std::byte> bytes = tensor.raw_data().bytes();
  if (bytes.size() <= kWhole) return hash_bytes(hash, bytes);
  return hash_bytes(hash_bytes(hash, bytes.first(kPiece)), bytes.last(kPiece));
}

bool same_constant(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.raw_data() == b.raw_data();
}

}  // namespace ec
