// Tables of indices, masks and weights that a rewrite puts in place of an operation.
#pragma once

#include <cstdint>
#include <span>

namespace ec::passes {

// A table has as many entries as a tensor of the model has elements. Beyond this the operation
// stays as it is: a file of some bytes may name tensors of any size, and the table would be stored.
inline constexpr int64_t kMostTableEntries = int64_t{1} << 23;

// Whether a table of these sizes may be made. Sizes are not negative.
inline bool fits_table(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size > kMostTableEntries) return false;
    count *= size;
    if (count > kMostTableEntries) return false;
  }
  return true;
}
inline bool fits_table(int64_t rows, int64_t columns) {
  const int64_t sizes[] = {rows, columns};
  return fits_table(sizes);
}

// Whether the heads of attention may be listed, where keys and values serve several of them.
// `query` is [batch, heads, length, features], or has its heads in its features.
inline bool fits_heads(std::span<const int64_t> query, int64_t stated_heads) {
  return fits_table(query.size() == 4 ? query[1] : stated_heads, 1);
}

}  // namespace ec::passes
