#include "ops/strided_copy.h"
#include "support/budget.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace ec {
namespace {

struct Axis {
  int64_t size;
  int64_t dst, src;  // strides in bytes
};

// --- blocks of small elements
// --------------------------------------------------------------------- A 16-byte vector of n
// elements and n such vectors form a square that is transposed in log2(n) rounds of interleaving
// the first half of the rows with the second.
template <class T>
struct Square {
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(16)));

  template <int kFirst, size_t... I>
  static Vector zip(Vector a, Vector b, std::index_sequence<I...> /*lanes*/) {
    return __builtin_shufflevector(
        a, b, (kFirst + static_cast<int>(I) / 2 + (static_cast<int>(I) % 2) * kSide)...);
  }

  static void transpose(std::byte* dst, int64_t dst_row, const std::byte* src, int64_t src_row) {
    using Lanes = std::make_index_sequence<static_cast<size_t>(kSide)>;
    Vector rows[kSide], next[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], src + i * src_row, 16);
    for (int width = 1; width < kSide; width *= 2) {
      for (int i = 0; i < kSide / 2; ++i) {
        next[2 * i] = zip<0>(rows[i], rows[i + kSide / 2], Lanes{});
        next[2 * i + 1] = zip<kSide / 2>(rows[i], rows[i + kSide / 2], Lanes{});
      }
      std::memcpy(rows, next, sizeof(rows));
    }
    for (int i = 0; i < kSide; ++i) std::memcpy(dst + i * dst_row, &rows[i], 16);
  }
};

// `rows` is contiguous in the source, `cols` in the destination.
template <class T>
void transpose_plane(std::byte* dst, const std::byte* src, const Axis& rows, const Axis& cols) {
  constexpr int64_t kSide = Square<T>::kSide;
  constexpr int64_t kBytes = sizeof(T);
  const auto element = [&](int64_t r, int64_t c) {
    std::memcpy(dst + r * rows.dst + c * kBytes, src + r * kBytes + c * cols.src, sizeof(T));
  };
  const int64_t square_cols = cols.size / kSide * kSide;
  const int64_t square_rows = rows.size / kSide * kSide;
  // Strips of destination columns as wide as a cache line keep the source lines in use.
  constexpr int64_t kStrip = std::max<int64_t>(kSide, 64 / kBytes);
  for (int64_t c0 = 0; c0 < square_cols; c0 += kStrip) {
    const int64_t c1 = std::min(c0 + kStrip, square_cols);
    for (int64_t r = 0; r < square_rows; r += kSide)
      for (int64_t c = c0; c < c1; c += kSide)
        Square<T>::transpose(dst + r * rows.dst + c * kBytes, rows.dst,
                             src + r * kBytes + c * cols.src, cols.src);
    for (int64_t r = square_rows; r < rows.size; ++r)
      for (int64_t c = c0; c < c1; ++c) element(r, c);
  }
  for (int64_t r = 0; r < rows.size; ++r)
    for (int64_t c = square_cols; c < cols.size; ++c) element(r, c);
}

template <class T>
void copy_line_of(std::byte* dst, const std::byte* src, const Axis& axis) {
  for (int64_t i = 0; i < axis.size; ++i)
    std::memcpy(dst + i * axis.dst, src + i * axis.src, sizeof(T));
}

struct Unit16 {
  std::array<std::byte, 16> bytes;
};

// One axis of units of `bytes` bytes each.
void copy_line(std::byte* dst, const std::byte* src, const Axis& axis, size_t bytes) {
  if (axis.src == 0 && axis.dst == static_cast<int64_t>(bytes))
    return fill_elements(dst, src, bytes, axis.size);
  switch (bytes) {
    case 1:
      return copy_line_of<uint8_t>(dst, src, axis);
    case 2:
      return copy_line_of<uint16_t>(dst, src, axis);
    case 4:
      return copy_line_of<uint32_t>(dst, src, axis);
    case 8:
      return copy_line_of<uint64_t>(dst, src, axis);
    case 16:
      return copy_line_of<Unit16>(dst, src, axis);
    default:
      for (int64_t i = 0; i < axis.size; ++i)
        std::memcpy(dst + i * axis.dst, src + i * axis.src, bytes);
  }
}

using PlaneFn = void (*)(std::byte*, const std::byte*, const Axis&, const Axis&);

PlaneFn plane_function(size_t bytes) {
  switch (bytes) {
    case 1:
      return transpose_plane<uint8_t>;
    case 2:
      return transpose_plane<uint16_t>;
    case 4:
      return transpose_plane<uint32_t>;
    case 8:
      return transpose_plane<uint64_t>;
    default:
      return nullptr;
  }
}

// The axes without those of size one, neighbours joined where both sides step alike.
std::vector<Axis> joined_axes(std::span<const int64_t> dst_strides,
                              std::span<const int64_t> src_strides, std::span<const int64_t> shape,
                              int64_t element) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const Axis axis{shape[d], dst_strides[d] * element, src_strides[d] * element};
    if (!axes.empty() && axes.back().dst == axis.size * axis.dst &&
        axes.back().src == axis.size * axis.src)
      axes.back() = {axes.back().size * axis.size, axis.dst, axis.src};
    else
      axes.push_back(axis);
  }
  return axes;
}

// Calls f with the offsets of every index of the axes.
template <class F>
void for_each_index(std::span<const Axis> axes, F&& f) {
  std::vector<int64_t> index(axes.size(), 0);
  int64_t dst = 0, src = 0;
  Ticker ticker;
  // The caller's axes are those around a line or a plane of some hundred bytes.
  constexpr int64_t kLine = 64;
  while (!ticker.tick(kLine)) {
    f(dst, src);
    size_t d = axes.size();
    while (d-- > 0) {
      dst += axes[d].dst;
      src += axes[d].src;
      if (++index[d] < axes[d].size) break;
      dst -= axes[d].size * axes[d].dst;
      src -= axes[d].size * axes[d].src;
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

}  // namespace

void strided_copy(std::byte* dst, std::span<const int64_t> dst_strides, const std::byte* src,
                  std::span<const int64_t> src_strides, std::span<const int64_t> shape,
                  size_t element_size) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  const auto element = static_cast<int64_t>(element_size);
  std::vector<Axis> axes = joined_axes(dst_strides, src_strides, shape, element);
  size_t unit = element_size;
  if (!axes.empty() && axes.back().dst == element && axes.back().src == element) {
    unit *= static_cast<size_t>(axes.back().size);
    axes.pop_back();
  }
  if (axes.empty()) {
    std::memcpy(dst, src, unit);
    return;
  }
  const Axis cols = axes.back();
  axes.pop_back();
  const auto step = static_cast<int64_t>(unit);
  const auto rows =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.src == step; });
  const PlaneFn plane = plane_function(unit);
  if (cols.dst == step && rows != axes.end() && plane != nullptr) {
    const Axis row_axis = *rows;
    axes.erase(rows);
    for_each_index(axes, [&](int64_t d, int64_t s) { plane(dst + d, src + s, row_axis, cols); });
  } else {
    for_each_index(axes, [&](int64_t d, int64_t s) { copy_line(dst + d, src + s, cols, unit); });
  }
}

void fill_elements(std::byte* dst, const std::byte* element, size_t element_size, int64_t count) {
  if (count <= 0) return;
  if (element_size == 1) {
    std::memset(dst, std::to_integer<int>(*element), static_cast<size_t>(count));
    return;
  }
  // Doubles what is there.
  const size_t total = element_size * static_cast<size_t>(count);
  std::memmove(dst, element, element_size);
  // Chunks of whole elements that stay in the first-level cache.
  const size_t longest = std::max<size_t>(1, (size_t{1} << 14) / element_size) * element_size;
  size_t done = element_size;
  while (done < total) {
    const size_t chunk = std::min({done, total - done, longest});
    std::memcpy(dst + done, dst, chunk);
    done += chunk;
  }
}

}  // namespace ec
