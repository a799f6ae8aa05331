// Indices as data: where the elements that gather reads and scatter writes are. Every index is
// checked here, so the loops over the resulting offsets need no checks of their own.
#pragma once

#include <vector>

#include "ops/move.h"

namespace ec {

// index in [-size, size) to [0, size).
Result<int64_t> checked_index(const KernelContext& ctx, int64_t index, int64_t size);
// An axis attribute in [-rank, rank) that inference has checked.
size_t plain_axis(int64_t axis, size_t rank);

// For each element of `indices` (of data's rank), the offset in data at the element's own position
// with the index in place along `axis`.
Result<std::vector<int64_t>> element_offsets(const KernelContext& ctx,
                                             std::span<const int64_t> data, size_t axis,
                                             const ConstView& indices);
// For each tuple in the last dimension of `indices`, the offset in data of the block it selects.
// The first `batch_dims` dimensions of both run in parallel.
Result<std::vector<int64_t>> tuple_offsets(const KernelContext& ctx, std::span<const int64_t> data,
                                           size_t batch_dims, const ConstView& indices);

// dst block i = the block of `run` elements at offsets[i] of src.
void gather_blocks(std::byte* dst, const std::byte* src, std::span<const int64_t> offsets,
                   int64_t run, size_t element_size);
// The block of `run` elements at offsets[i] of dst = src block i, in order.
void scatter_blocks(std::byte* dst, const std::byte* src, std::span<const int64_t> offsets,
                    int64_t run, size_t element_size);
// result = the entries `indices` of x along an axis.
void take_along(const MutableView& result, const ConstView& x, size_t axis,
                std::span<const int64_t> indices);

}  // namespace ec
