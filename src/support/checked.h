// Sizes that come from files or values, before anything is allocated or counted with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ec {

// No tensor may be larger, in bytes: 64 TiB. Sums over all tensors of a graph stay within int64.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;

// The bytes that sizes ask for, with empty dimensions counted as one: then every product of some of
// the sizes (a stride, the elements beside an axis) fits as well. Nothing for a negative size, and
// for more than kMaxTensorBytes.
constexpr std::optional<int64_t> checked_extent(std::span<const int64_t> sizes,
                                                int64_t element_bytes) {
  int64_t bytes = element_bytes;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMaxTensorBytes) return std::nullopt;
    if (__builtin_mul_overflow(bytes, size == 0 ? 1 : size, &bytes) || bytes > kMaxTensorBytes)
      return std::nullopt;
  }
  return bytes;
}

}  // namespace ec
