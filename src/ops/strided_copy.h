// Data movement: copying a box of elements between two strided layouts. Transpose, slice, concat,
// pad, expand, tile and the rest differ only in the strides they ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ec {

// When the result is read next. What is only read later is written past the caches where it can be.
enum class NextUse { Soon, Later };

// dst[i . dst_strides] = src[i . src_strides] for every index i of `shape`. Strides count elements
// and may be zero (repeat) or negative (reverse) on the source side; destination elements are
// written once each. Runs that are contiguous on both sides are copied as a whole; where one side
// is contiguous along one axis and the other along others, blocks are transposed.
void strided_copy(std::byte* dst, std::span<const int64_t> dst_strides, const std::byte* src,
                  std::span<const int64_t> src_strides, std::span<const int64_t> shape,
                  size_t element_size, NextUse next_use = NextUse::Soon);

// Repeats one element `count` times.
void fill_elements(std::byte* dst, const std::byte* element, size_t element_size, int64_t count);

}  // namespace ec
