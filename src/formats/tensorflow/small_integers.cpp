#include "formats/tensorflow/small_integers.h"

#include <algorithm>

#include "support/deferred_bytes.h"

namespace ec::tf {
namespace {

std::byte nibble(DataType type, std::byte stored) {
  const std::byte low = stored & std::byte{0x0F};
  const bool negative = type == DataType::Int4 && (low & std::byte{0x08}) != std::byte{0};
  return negative ? low | std::byte{0xF0} : low;
}

}  // namespace

Blob without_upper_bits(DataType type, Blob data) {
  if (type != DataType::Int4 && type != DataType::Uint4) return data;
  static_cast<void>(read_deferred(data));  // the file remembers a fault
  const auto is_right = [&](std::byte stored) { return nibble(type, stored) == stored; };
  if (std::ranges::all_of(data.bytes(), is_right)) return data;
  Buffer buffer = Buffer::allocate(data.size());
  if (!buffer.ok()) return Blob();
  std::ranges::transform(data.bytes(), buffer.data(),
                         [&](std::byte stored) { return nibble(type, stored); });
  return std::move(buffer).to_blob();
}

}  // namespace ec::tf
