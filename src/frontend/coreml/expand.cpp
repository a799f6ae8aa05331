#include "frontend/coreml/expand.h"

#include <cstring>

#include "support/checked.h"

namespace ec::mil {
namespace {

Error misfit(std::string what) { return Error(Code::ShapeMismatch, std::move(what)); }
Error no_memory() { return Error(Code::OutOfMemory, "not enough memory for the weights"); }

int64_t count_of(const Ints& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// The bytes of so many elements. Nothing: more than a tensor may have.
std::optional<size_t> bytes_of(const Ints& shape, DType dtype) {
  const auto most = checked_extent(shape, static_cast<int64_t>(element_size(dtype)));
  if (!most) return std::nullopt;
  return static_cast<size_t>(count_of(shape)) * element_size(dtype);
}

// How many elements of a dimension share a table. Empty: the groups do not fit.
std::optional<Ints> group_sizes(const Ints& shape, const Ints& tables) {
  Ints sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tables[i] < 1 || shape[i] % tables[i] != 0) return std::nullopt;
    sizes.push_back(shape[i] / tables[i]);
  }
  return sizes;
}

// Walks all positions of a shape in order and calls f(position).
template <class F>
void for_each_position(const Ints& shape, F&& f) {
  Ints at(shape.size(), 0);
  for (int64_t left = count_of(shape); left > 0; --left) {
    f(at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

Result<Weights> look_up(const Weights& indices, const Weights& tables, int64_t vector_axis) {
  const size_t rank = indices.shape.size();
  if (tables.shape.size() != rank + 2) return misfit("the tables do not fit the indices");
  const auto groups = group_sizes(indices.shape, tables.shape);
  if (!groups) return misfit("the tables do not divide the weights into equal groups");
  const int64_t entries = tables.shape[rank], width = tables.shape[rank + 1];
  if (width < 1) return misfit("the tables have no elements");
  if (width > 1 && (vector_axis < 0 || vector_axis >= static_cast<int64_t>(rank)))
    return misfit("the vectors of the tables lie along no dimension");
  Weights out{tables.dtype, indices.shape, {}};
  if (width > 1) out.shape[static_cast<size_t>(vector_axis)] *= width;
  const size_t bytes = element_size(tables.dtype);
  const auto size = bytes_of(out.shape, tables.dtype);
  Buffer buffer = size ? Buffer::allocate(*size) : Buffer();
  if (!size || !buffer.ok()) return no_memory();
  // Elements of the result between one step along the vector's dimension and the next.
  int64_t inner = 1;
  for (size_t d = width > 1 ? static_cast<size_t>(vector_axis) + 1 : rank; d < rank; ++d)
    inner *= indices.shape[d];
  const std::byte* table = tables.data.bytes().data();
  const std::byte* index = indices.data.bytes().data();
  bool inside = true;
  int64_t number = 0;
  for_each_position(indices.shape, [&](const Ints& at) {
    int64_t group = 0;
    for (size_t d = 0; d < rank; ++d) group = group * tables.shape[d] + at[d] / (*groups)[d];
    const auto entry = static_cast<int64_t>(index[number]);
    inside = inside && entry < entries;
    if (inside)
      for (int64_t v = 0; v < width; ++v) {
        const int64_t to =
            width > 1 ? (number / inner * width + v) * inner + number % inner : number;
        std::memcpy(buffer.data() + static_cast<size_t>(to) * bytes,
                    table + static_cast<size_t>((group * entries + entry) * width + v) * bytes,
                    bytes);
      }
    ++number;
  });
  if (!inside) return Error(Code::BadTensorData, "an index points behind the end of its table");
  out.data = std::move(buffer).to_blob();
  return out;
}

Result<Weights> spread(const Weights& elements, const Weights& mask) {
  const size_t bytes = element_size(elements.dtype);
  const auto size = bytes_of(mask.shape, elements.dtype);
  if (size && *size != mask.data.size() * bytes) return misfit("the mask is no mask of bytes");
  Buffer buffer = size ? Buffer::allocate(*size) : Buffer();
  if (!size || !buffer.ok()) return no_memory();
  size_t next = 0;
  const size_t have = elements.data.size() / bytes;
  const auto bits = mask.data.bytes();
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] == std::byte{0}) continue;
    if (next == have) return misfit("the mask has more ones than there are elements");
    std::memcpy(buffer.data() + i * bytes, elements.data.bytes().data() + next++ * bytes, bytes);
  }
  if (next != have) return misfit("the mask has fewer ones than there are elements");
  return Weights{elements.dtype, mask.shape, std::move(buffer).to_blob()};
}

Result<Weights> pick(const Weights& elements, const Weights& mask) {
  const size_t bytes = element_size(elements.dtype);
  const auto bits = mask.data.bytes();
  if (elements.data.size() != bits.size() * bytes) return misfit("mask and elements do not fit");
  size_t count = 0;
  for (const std::byte bit : bits) count += bit != std::byte{0} ? 1 : 0;
  Buffer buffer = Buffer::allocate(count * bytes);
  if (!buffer.ok()) return no_memory();
  size_t next = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i] != std::byte{0})
      std::memcpy(buffer.data() + next++ * bytes, elements.data.bytes().data() + i * bytes, bytes);
  return Weights{elements.dtype, {static_cast<int64_t>(count)}, std::move(buffer).to_blob()};
}

}  // namespace ec::mil
