// Object headers: what an object says of itself, in messages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/cursor.h"
#include "formats/hdf5/hdf5.h"

namespace ec::hdf5 {

inline constexpr uint64_t kUndefined = ~uint64_t{0};

// The file with the sizes of its fields.
struct Image {
  FileBytes file;  // from the superblock's base on
  unsigned offset_size = 8, length_size = 8;

  uint64_t size() const { return file.size(); }
  Cursor at(uint64_t address) const { return Cursor(file, address); }
  // Bytes that a cursor took.
  Result<Blob> blob(Bytes taken) const {
    return file.range(static_cast<size_t>(taken.data() - file.span().data()), taken.size());
  }
  uint64_t offset(Cursor& c) const {
    const uint64_t value = c.number(offset_size);
    return offset_size < 8 && value == (uint64_t{1} << (8 * offset_size)) - 1 ? kUndefined : value;
  }
  uint64_t length(Cursor& c) const { return c.number(length_size); }
};

struct Filter {
  uint16_t id = 0;
  bool optional = false;
  std::vector<uint32_t> values;
};

enum class ChunkIndex : uint8_t { TreeV1, Single, Implicit, FixedArray };

struct Layout {
  enum class Kind : uint8_t { None, Compact, Contiguous, Chunked } kind = Kind::None;
  Bytes compact;
  uint64_t address = kUndefined, size = 0;
  std::vector<int64_t> chunk;  // without the element size
  ChunkIndex index = ChunkIndex::TreeV1;
  uint64_t filtered_size = 0;  // of a single chunk
  uint32_t filter_mask = 0;
};

struct Attribute {
  std::string name;
  Type type;
  std::vector<int64_t> shape;
  Bytes data;  // of the file, or of `kept`
};

class Header {
 public:
  std::optional<Type> type;
  std::optional<std::vector<int64_t>> shape;
  std::optional<Layout> layout;
  std::vector<Filter> filters;
  std::vector<Attribute> attributes;
  std::vector<Link> links;  // compact
  // Symbol table of an old group.
  uint64_t tree = kUndefined, heap = kUndefined;
  // Dense links and attributes: a fractal heap and the tree of names.
  uint64_t link_heap = kUndefined, link_tree = kUndefined;
  uint64_t attribute_heap = kUndefined, attribute_tree = kUndefined;
  bool external_files = false;
  // Why a message that the object needs is not read; asked when it is needed.
  std::string odd_type, odd_layout;
};

Result<Header> read_header(const Image& image, uint64_t address);

// Parts that also stand in heaps.
Result<Attribute> read_attribute(const Image& image, Bytes message);
Result<Link> read_link(const Image& image, Bytes message);
// The bytes that an array needs; CorruptFile where they cannot be counted.
Result<uint64_t> array_bytes(const Type& type, std::span<const int64_t> shape);

// Members of a group whose names are in a symbol table.
Result<std::vector<Link>> read_symbol_table(const Image& image, uint64_t tree, uint64_t heap);
// The objects that a dense index names, each handed on as its message.
using MessageFn = std::function<Status(Bytes message)>;
Status read_dense(const Image& image, uint64_t heap, uint64_t tree, bool attributes,
                  const MessageFn& each);

// What unpacking may still take.
struct UnpackBudget {
  uint64_t left = 0;
};
Result<Array> read_dataset(const Image& image, const Header& header, UnpackBudget& budget);

}  // namespace ec::hdf5
