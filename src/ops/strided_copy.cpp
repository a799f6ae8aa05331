#include "ops/strided_copy.h"
#include "support/budget.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

  // Row i of the source is `src_rows[i]` bytes further.
  static void transpose(std::byte* dst, int64_t dst_row, const std::byte* src,
                        const int64_t* src_rows) {
    using Lanes = std::make_index_sequence<static_cast<size_t>(kSide)>;
    Vector rows[kSide], next[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], src + src_rows[i], 16);
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

// A plane of elements: rows are contiguous in the source, columns in the destination. The columns
// may come from anywhere in the source.
struct Plane {
  std::byte* dst;
  const std::byte* src;
  int64_t rows, dst_row;                 // bytes from one row of the destination to the next
  std::span<const int64_t> col_offsets;  // of the source, in bytes
  bool past_caches;
};

// Writes a line of the cache without reading it first, as other stores do.
void store_line(std::byte* dst, const std::byte* line) {
#if defined(__SSE2__)
  // Parts of two lines would be written apart.
  if (reinterpret_cast<uintptr_t>(dst) % 64 == 0) {
    for (int i = 0; i < 64; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(line + i)));
    return;
  }
#endif
  std::memcpy(dst, line, 64);
}

// Other threads see what store_line() wrote.
void finish_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// A tile as wide as a line of the cache both ways, put together on the stack and written past the
// caches.
template <class T>
void transpose_tile(const Plane& plane, int64_t row, int64_t col) {
  constexpr int kSide = Square<T>::kSide, kTile = 64 / static_cast<int>(sizeof(T));
  alignas(64) std::byte tile[64 * kTile];
  for (int c = 0; c < kTile; c += kSide) {
    const int64_t* offsets = plane.col_offsets.data() + col + c;
    for (int r = 0; r < kTile; r += kSide)
      Square<T>::transpose(tile + r * 64 + c * static_cast<int>(sizeof(T)), 64,
                           plane.src + (row + r) * int64_t{sizeof(T)}, offsets);
  }
  std::byte* out = plane.dst + row * plane.dst_row + col * int64_t{sizeof(T)};
  for (int r = 0; r < kTile; ++r, out += plane.dst_row) store_line(out, tile + r * 64);
}

template <class T>
void transpose_plane(const Plane& plane) {
  constexpr int64_t kSide = Square<T>::kSide, kBytes = sizeof(T), kTile = 64 / kBytes;
  const auto cols = static_cast<int64_t>(plane.col_offsets.size());
  const auto squares = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t r = r0; r + kSide <= r1; r += kSide)
      for (int64_t c = c0; c < c1; c += kSide)
        Square<T>::transpose(plane.dst + r * plane.dst_row + c * kBytes, plane.dst_row,
                             plane.src + r * kBytes, plane.col_offsets.data() + c);
  };
  const auto elements = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t r = r0; r < r1; ++r)
      for (int64_t c = c0; c < c1; ++c)
        std::memcpy(plane.dst + r * plane.dst_row + c * kBytes,
                    plane.src + r * kBytes + plane.col_offsets[static_cast<size_t>(c)], sizeof(T));
  };
  const int64_t square_rows = plane.rows / kSide * kSide, square_cols = cols / kSide * kSide;
  for (int64_t c = 0; c < square_cols;) {
    int64_t r = 0;
    if (plane.past_caches && c + kTile <= cols)
      for (; r + kTile <= plane.rows; r += kTile) transpose_tile<T>(plane, r, c);
    const int64_t stop = std::min(c + kTile, square_cols);
    squares(r, plane.rows, c, stop);
    elements(square_rows, plane.rows, c, stop);
    c = stop;
  }
  elements(0, plane.rows, square_cols, cols);
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

using PlaneFn = void (*)(const Plane&);

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

// Takes the last axes that are one run of the destination off, as the offsets of their elements in
// the source.
std::vector<int64_t> take_columns(std::vector<Axis>& axes, int64_t step) {
  constexpr int64_t kMost = 16384;
  std::vector<int64_t> offsets = {0};
  while (!axes.empty()) {
    const Axis axis = axes.back();
    const auto run = static_cast<int64_t>(offsets.size());
    if (axis.dst != run * step || (run > 1 && axis.size * run > kMost)) break;
    axes.pop_back();
    offsets.resize(static_cast<size_t>(axis.size * run));
    for (size_t i = static_cast<size_t>(run); i < offsets.size(); ++i)
      offsets[i] = offsets[i - static_cast<size_t>(run)] + axis.src;
  }
  return offsets;
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
                  size_t element_size, NextUse next_use) {
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
  const auto step = static_cast<int64_t>(unit);
  const auto rows =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.src == step; });
  const PlaneFn plane = plane_function(unit);
  if (axes.back().dst == step && axes.back().src != step && rows != axes.end() &&
      plane != nullptr) {
    const Axis row_axis = *rows;
    axes.erase(rows);
    const std::vector<int64_t> columns = take_columns(axes, step);
    const bool past_caches = next_use == NextUse::Later;
    for_each_index(axes, [&](int64_t d, int64_t s) {
      plane({dst + d, src + s, row_axis.size, row_axis.dst, columns, past_caches});
    });
    if (past_caches) finish_stores();
    return;
  }
  const Axis line = axes.back();
  axes.pop_back();
  for_each_index(axes, [&](int64_t d, int64_t s) { copy_line(dst + d, src + s, line, unit); });
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
