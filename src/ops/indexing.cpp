#include "ops/indexing.h"
#include "support/budget.h"

#include <cstring>

namespace ec {

Result<int64_t> checked_index(const KernelContext& ctx, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return ctx.fail("index " + std::to_string(index) + " is outside a dimension of size " +
                    std::to_string(size));
  return index < 0 ? index + size : index;
}

size_t plain_axis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Result<std::vector<int64_t>> element_offsets(const KernelContext& ctx,
                                             std::span<const int64_t> data, size_t axis,
                                             const ConstView& indices) {
  const Reader<int64_t> values(indices);
  std::vector<int64_t> offsets(values.size());
  if (offsets.empty()) return offsets;
  std::vector<int64_t> strides = row_major_strides(data);
  const int64_t axis_stride = strides[axis];
  // The axis comes from the index alone.
  strides[axis] = 0;
  IndexWalker walker(indices.shape);
  for (size_t i = 0; i < offsets.size(); ++i, walker.next()) {
    EC_TRY(const int64_t index, checked_index(ctx, values[i], data[axis]));
    offsets[i] = walker.offset(strides) + index * axis_stride;
  }
  return offsets;
}

Result<std::vector<int64_t>> tuple_offsets(const KernelContext& ctx, std::span<const int64_t> data,
                                           size_t batch_dims, const ConstView& indices) {
  const Reader<int64_t> values(indices);
  const auto width = static_cast<size_t>(indices.shape.back());
  const std::vector<int64_t> strides = row_major_strides(data);
  const int64_t batches = count_elements(data.first(batch_dims));
  const int64_t batch_size = count_elements(data.subspan(batch_dims));
  const int64_t tuples = count_elements(indices.shape.first(indices.rank() - 1));
  std::vector<int64_t> offsets(static_cast<size_t>(tuples));
  const int64_t per_batch = batches == 0 ? 0 : tuples / batches;
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t offset = static_cast<int64_t>(i) / per_batch * batch_size;
    for (size_t k = 0; k < width; ++k) {
      const size_t d = batch_dims + k;
      EC_TRY(const int64_t index, checked_index(ctx, values[i * width + k], data[d]));
      offset += index * strides[d];
    }
    offsets[i] = offset;
  }
  return offsets;
}

namespace {

// Calls move(block pointer of the packed side, offset in bytes of the other) with a constant size
// where blocks are small.
template <class Move>
void for_each_block(std::span<const int64_t> offsets, int64_t run, size_t element_size,
                    Move&& move) {
  const size_t block = static_cast<size_t>(run) * element_size;
  const auto all = [&](auto size) {
    Ticker ticker;
    for (size_t i = 0; i < offsets.size() && !ticker.tick(1 + run / 8); ++i)
      move(i * size, static_cast<size_t>(offsets[i]) * element_size, size);
  };
  switch (block) {
    case 0:
      return;
    case 1:
      return all(std::integral_constant<size_t, 1>{});
    case 2:
      return all(std::integral_constant<size_t, 2>{});
    case 4:
      return all(std::integral_constant<size_t, 4>{});
    case 8:
      return all(std::integral_constant<size_t, 8>{});
    default:
      return all(block);
  }
}

}  // namespace

void gather_blocks(std::byte* dst, const std::byte* src, std::span<const int64_t> offsets,
                   int64_t run, size_t element_size) {
  for_each_block(offsets, run, element_size, [&](size_t packed, size_t spread, auto size) {
    std::memcpy(dst + packed, src + spread, size);
  });
}

void scatter_blocks(std::byte* dst, const std::byte* src, std::span<const int64_t> offsets,
                    int64_t run, size_t element_size) {
  for_each_block(offsets, run, element_size, [&](size_t packed, size_t spread, auto size) {
    std::memcpy(dst + spread, src + packed, size);
  });
}

void take_along(const MutableView& result, const ConstView& x, size_t axis,
                std::span<const int64_t> indices) {
  const AxisSplit split = split_at(x.shape, axis);
  const size_t bytes = element_size(x.dtype);
  std::vector<int64_t> offsets(indices.begin(), indices.end());
  for (int64_t& offset : offsets) offset *= split.inner;
  const size_t in_slab = static_cast<size_t>(split.size * split.inner) * bytes;
  const size_t out_slab = offsets.size() * static_cast<size_t>(split.inner) * bytes;
  if (out_slab == 0) return;
  Ticker ticker;
  for (int64_t o = 0; o < split.outer && !ticker.tick(static_cast<int64_t>(offsets.size())); ++o)
    gather_blocks(result.data + static_cast<size_t>(o) * out_slab,
                  x.data + static_cast<size_t>(o) * in_slab, offsets, split.inner, bytes);
}

}  // namespace ec
