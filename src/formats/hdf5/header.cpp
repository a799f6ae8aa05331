#include "formats/hdf5/header.h"

#include <fmt/format.h>

#include <set>

#include "support/checked.h"
#include "support/strings.h"

namespace ec::hdf5 {
namespace {

constexpr unsigned kMaxRank = 32;    // the format's own limit
constexpr size_t kMaxChunks = 4096;  // continuation blocks of one header
constexpr int kMaxTypeDepth = 4;

enum : uint16_t {
  kNil = 0x00,
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

Result<std::vector<int64_t>> read_dataspace(const Image& image, Bytes message) {
  Cursor c(message);
  const uint8_t version = c.u8();
  const unsigned rank = c.u8();
  c.u8();  // flags: maximum sizes follow
  std::vector<int64_t> shape;
  if (version == 1) {
    c.skip(5);
  } else if (version == 2) {
    if (c.u8() == 2) shape.push_back(0);  // no elements at all
  } else {
    return corrupt(fmt::format("dataspace of version {}", version));
  }
  if (rank > kMaxRank) return corrupt(fmt::format("{} dimensions", rank));
  for (unsigned i = 0; i < rank; ++i) {
    const uint64_t size = image.length(c);
    if (size > static_cast<uint64_t>(kMaxTensorBytes)) return corrupt("a size is out of range");
    shape.push_back(static_cast<int64_t>(size));
  }
  if (!c.ok()) return corrupt("a dataspace ends early");
  return shape;
}

// IEEE 754 as every machine writes it; bfloat16 has the exponent of a float in two bytes.
void read_float_form(Cursor& c, Type& type, unsigned sign_at) {
  const unsigned offset = c.u16(), precision = c.u16();
  const unsigned exponent_at = c.u8(), exponent = c.u8(), mantissa_at = c.u8(), mantissa = c.u8();
  const uint32_t bias = c.u32();
  const auto is = [&](uint32_t size, unsigned e, unsigned m, uint32_t b) {
    return type.size == size && offset == 0 && precision == 8 * size && exponent == e &&
           mantissa == m && mantissa_at == 0 && exponent_at == m && bias == b &&
           sign_at == 8 * size - 1;
  };
  type.ieee = is(2, 5, 10, 15) || is(4, 8, 23, 127) || is(8, 11, 52, 1023);
  type.bfloat = is(2, 8, 7, 127);
}

Result<Type> read_datatype(Cursor& c, int depth = 0) {
  const uint8_t head = c.u8();
  const uint32_t bits = static_cast<uint32_t>(c.number(3));
  Type type;
  type.size = c.u32();
  if (!c.ok() || depth > kMaxTypeDepth) return corrupt("a datatype ends early");
  switch (head & 15) {
    case 0: {  // fixed point
      const unsigned offset = c.u16(), precision = c.u16();
      type.is_signed = (bits & 8) != 0;
      type.big_endian = (bits & 1) != 0;
      const bool plain = (type.size == 1 || type.size == 2 || type.size == 4 || type.size == 8) &&
                         offset == 0 && precision == 8 * type.size;
      type.kind = plain ? Type::Kind::Integer : Type::Kind::Other;
      break;
    }
    case 1:
      type.big_endian = (bits & 1) != 0;
      read_float_form(c, type, bits >> 8 & 0xff);
      type.kind = type.ieee || type.bfloat ? Type::Kind::Float : Type::Kind::Other;
      break;
    case 3:
      type.kind = Type::Kind::Text;
      break;
    case 5:
      type.kind = Type::Kind::Opaque;
      break;
    case 8: {  // an enumeration: the numbers of its base
      EC_TRY(const Type base, read_datatype(c, depth + 1));
      if (base.kind != Type::Kind::Integer || base.size != type.size) break;
      type = base;
      type.boolean = base.size == 1 && (bits & 0xffff) == 2;
      break;
    }
    case 9:
      if ((bits & 15) == 1) type.kind = Type::Kind::VlenText;
      break;
    default:
      break;
  }
  if (type.size == 0) return corrupt("a datatype without size");
  return type;
}

Result<std::vector<Filter>> read_filters(Bytes message) {
  Cursor c(message);
  const uint8_t version = c.u8();
  const unsigned count = c.u8();
  if (version == 1) c.skip(6);
  if ((version != 1 && version != 2) || count > 32)
    return corrupt("a filter pipeline is not valid");
  std::vector<Filter> filters;
  for (unsigned i = 0; i < count && c.ok(); ++i) {
    Filter filter;
    filter.id = c.u16();
    const unsigned name = version == 1 || filter.id >= 256 ? c.u16() : 0;
    filter.optional = (c.u16() & 1) != 0;
    const unsigned values = c.u16();
    c.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    for (unsigned v = 0; v < values && c.ok(); ++v) filter.values.push_back(c.u32());
    if (version == 1 && values % 2 == 1) c.skip(4);
    filters.push_back(std::move(filter));
  }
  if (!c.ok()) return corrupt("a filter pipeline ends early");
  return filters;
}

// The sizes of a chunk; the last of them is that of an element.
Status read_chunk_sizes(Cursor& c, unsigned count, unsigned field, Layout& layout) {
  if (count < 2 || count > kMaxRank + 1) return corrupt("a chunk has no dimensions");
  for (unsigned i = 0; i + 1 < count; ++i) {
    const uint64_t size = c.number(field);
    if (size == 0 || size > static_cast<uint64_t>(kMaxTensorBytes))
      return corrupt("the size of a chunk is out of range");
    layout.chunk.push_back(static_cast<int64_t>(size));
  }
  c.number(field);
  return {};
}

Status read_new_chunks(const Image& image, Cursor& c, Layout& layout, std::string& odd) {
  const uint8_t flags = c.u8();
  const unsigned rank = c.u8(), field = c.u8();
  if (field < 1 || field > 8) return corrupt("the size of a chunk is out of range");
  EC_CHECK_OK(read_chunk_sizes(c, rank, field, layout));
  switch (c.u8()) {
    case 1:
      layout.index = ChunkIndex::Single;
      if ((flags & 2) != 0) {
        layout.filtered_size = image.length(c);
        layout.filter_mask = c.u32();
      }
      break;
    case 2:
      layout.index = ChunkIndex::Implicit;
      break;
    case 3:
      layout.index = ChunkIndex::FixedArray;
      c.u8();  // bits of a page; the array's own header has them too
      break;
    default:
      odd = "chunks that are indexed for data that grow (libver='latest')";
      return {};
  }
  layout.address = image.offset(c);
  return {};
}

Result<Layout> read_layout(const Image& image, Bytes message, std::string& odd) {
  Cursor c(message);
  Layout layout;
  const uint8_t version = c.u8();
  uint8_t kind = 0;
  unsigned rank = 0;
  if (version == 1 || version == 2) {
    rank = c.u8();
    kind = c.u8();
    c.skip(5);
    if (kind != 0) layout.address = image.offset(c);
    if (kind == 2) {
      EC_CHECK_OK(read_chunk_sizes(c, rank, 4, layout));
    } else {
      c.skip(4 * rank);
    }
    if (kind == 0) layout.compact = c.take(c.u32());
    if (kind == 1) layout.size = kUndefined;  // that of the elements
  } else if (version == 3 || version == 4) {
    kind = c.u8();
    if (kind == 0) {
      layout.compact = c.take(c.u16());
    } else if (kind == 1) {
      layout.address = image.offset(c);
      layout.size = image.length(c);
    } else if (kind == 2 && version == 3) {
      rank = c.u8();
      layout.address = image.offset(c);
      EC_CHECK_OK(read_chunk_sizes(c, rank, 4, layout));
    } else if (kind == 2) {
      EC_CHECK_OK(read_new_chunks(image, c, layout, odd));
    }
  } else {
    odd = fmt::format("a data layout of version {}", version);
    return layout;
  }
  if (!c.ok()) return corrupt("a data layout ends early");
  if (kind == 3) odd = "a virtual dataset, whose data are in other files";
  if (kind > 3) return corrupt("an unknown data layout");
  layout.kind = kind == 0   ? Layout::Kind::Compact
                : kind == 1 ? Layout::Kind::Contiguous
                            : Layout::Kind::Chunked;
  return layout;
}

class HeaderReader {
 public:
  explicit HeaderReader(const Image& image) : image_(image) {}

  Result<Header> read(uint64_t address) {
    Cursor c = image_.at(address);
    if (c.text(4) == "OHDR") {
      EC_CHECK_OK(read_new(c));
    } else {
      EC_CHECK_OK(read_old(address));
    }
    while (!pending_.empty()) {
      const auto [at, length] = pending_.back();
      pending_.pop_back();
      EC_CHECK_OK(read_continuation(at, length));
    }
    return std::move(header_);
  }

 private:
  Status read_old(uint64_t address) {
    Cursor c = image_.at(address);
    if (c.u8() != 1) return corrupt(fmt::format("no object header at {}", address));
    c.skip(7);  // number of messages, references
    const uint32_t size = c.u32();
    c.skip(4);
    const Bytes messages = c.take(size);
    if (!c.ok()) return corrupt("an object header leaves the file");
    return read_old_messages(messages);
  }

  Status read_old_messages(Bytes bytes) {
    Cursor c(bytes);
    while (c.left() >= 8) {
      const uint16_t type = c.u16(), size = c.u16();
      const uint8_t flags = c.u8();
      c.skip(3);
      const Bytes data = c.take(size);
      if (!c.ok()) return corrupt("a message leaves its object header");
      EC_CHECK_OK(take(type, flags, data));
    }
    return {};
  }

  Status read_new(Cursor& c) {
    if (c.u8() != 2) return corrupt("an object header of an unknown version");
    const uint8_t flags = c.u8();
    if ((flags & 0x20) != 0) c.skip(16);
    if ((flags & 0x10) != 0) c.skip(4);
    const Bytes messages = c.take(c.number(1u << (flags & 3)));
    new_ = true;
    ordered_ = (flags & 4) != 0;
    if (!c.ok()) return corrupt("an object header leaves the file");
    return read_new_messages(messages);
  }

  Status read_new_messages(Bytes bytes) {
    Cursor c(bytes);
    const uint64_t head = ordered_ ? 6 : 4;
    while (c.left() >= head) {
      const uint8_t type = c.u8();
      const uint16_t size = c.u16();
      const uint8_t flags = c.u8();
      if (ordered_) c.skip(2);
      const Bytes data = c.take(size);
      if (!c.ok()) return corrupt("a message leaves its object header");
      EC_CHECK_OK(take(type, flags, data));
    }
    return {};
  }

  Status read_continuation(uint64_t at, uint64_t length) {
    if (seen_.size() >= kMaxChunks || !seen_.insert(at).second)
      return corrupt("an object header continues in a circle");
    Cursor c = image_.at(at);
    Bytes block = c.take(length);
    if (!c.ok()) return corrupt("an object header leaves the file");
    if (!new_) return read_old_messages(block);
    if (length < 8 || !Cursor(block).expect("OCHK"))
      return corrupt("an object header continues at a wrong place");
    return read_new_messages(block.subspan(4, length - 8));
  }

  Status take(uint16_t type, uint8_t flags, Bytes data) {
    // Shared messages stand elsewhere: nothing that Keras writes.
    const bool shared = (flags & 2) != 0;
    Cursor c(data);
    switch (type) {
      case kDataspace: {
        if (shared) return unsupported("a shared dataspace");
        EC_TRY(header_.shape, read_dataspace(image_, data));
        break;
      }
      case kDatatype: {
        if (shared) {
          header_.odd_type = "a committed datatype";
          break;
        }
        EC_TRY(header_.type, read_datatype(c));
        break;
      }
      case kLayout: {
        EC_TRY(header_.layout, read_layout(image_, data, header_.odd_layout));
        break;
      }
      case kFilters: {
        if (shared) return unsupported("a shared filter pipeline");
        EC_TRY(header_.filters, read_filters(data));
        break;
      }
      case kExternalFiles:
        header_.external_files = true;
        break;
      case kAttribute: {
        if (shared) return unsupported("a shared attribute");
        EC_TRY(Attribute attribute, read_attribute(image_, data));
        header_.attributes.push_back(std::move(attribute));
        break;
      }
      case kLink: {
        EC_TRY(Link link, read_link(image_, data));
        header_.links.push_back(std::move(link));
        break;
      }
      case kContinuation: {
        const uint64_t at = image_.offset(c), length = image_.length(c);
        if (!c.ok()) return corrupt("a message ends early");
        pending_.emplace_back(at, length);
        break;
      }
      case kSymbolTable:
        header_.tree = image_.offset(c);
        header_.heap = image_.offset(c);
        if (!c.ok()) return corrupt("a message ends early");
        break;
      case kLinkInfo:
        return dense_index(c, 8, header_.link_heap, header_.link_tree);
      case kAttributeInfo:
        return dense_index(c, 2, header_.attribute_heap, header_.attribute_tree);
      default:
        break;
    }
    return {};
  }

  Status dense_index(Cursor& c, uint64_t order_size, uint64_t& heap, uint64_t& tree) const {
    c.u8();
    if ((c.u8() & 1) != 0) c.skip(order_size);
    heap = image_.offset(c);
    tree = image_.offset(c);
    return c.ok() ? Status() : corrupt("a message ends early");
  }

  const Image& image_;
  Header header_;
  bool new_ = false, ordered_ = false;
  std::set<uint64_t> seen_;
  std::vector<std::pair<uint64_t, uint64_t>> pending_;
};

}  // namespace

Result<Header> read_header(const Image& image, uint64_t address) {
  return HeaderReader(image).read(address);
}

Result<uint64_t> array_bytes(const Type& type, std::span<const int64_t> shape) {
  // An empty dimension makes all of it empty, whatever the others say.
  for (const int64_t size : shape)
    if (size == 0) return uint64_t{0};
  const auto bytes = checked_extent(shape, type.size);
  if (!bytes) return corrupt("a dataset is larger than any file");
  return static_cast<uint64_t>(*bytes);
}

Result<Attribute> read_attribute(const Image& image, Bytes message) {
  Cursor c(message);
  const uint8_t version = c.u8(), flags = c.u8();
  const uint16_t name_size = c.u16(), type_size = c.u16(), space_size = c.u16();
  if (version < 1 || version > 3) return corrupt("an attribute of an unknown version");
  if (version == 3) c.u8();  // character set
  const uint64_t origin = c.at();
  Attribute attribute;
  attribute.name = until_zero(c.text(name_size));
  if (version == 1) c.align(origin);
  const uint64_t type_at = c.at();
  Cursor type(c.take(type_size));
  if (version == 1) c.align(type_at);
  const uint64_t space_at = c.at();
  const Bytes space = c.take(space_size);
  if (version == 1) c.align(space_at);
  if (!c.ok()) return corrupt("an attribute ends early");
  if (version > 1 && (flags & 3) != 0) return attribute;  // a committed type: never asked for
  EC_TRY(attribute.type, read_datatype(type));
  EC_TRY(attribute.shape, read_dataspace(image, space));
  EC_TRY(const uint64_t bytes, array_bytes(attribute.type, attribute.shape));
  attribute.data = c.take(bytes);
  if (!c.ok()) return corrupt(fmt::format("attribute '{}' ends early", printable(attribute.name)));
  return attribute;
}

Result<Link> read_link(const Image& image, Bytes message) {
  Cursor c(message);
  if (c.u8() != 1) return corrupt("a link of an unknown version");
  const uint8_t flags = c.u8();
  const uint8_t kind = (flags & 8) != 0 ? c.u8() : uint8_t{0};
  if ((flags & 4) != 0) c.skip(8);
  if ((flags & 16) != 0) c.skip(1);
  Link link;
  link.name = c.text(c.number(1u << (flags & 3)));
  link.kind = kind == 0 ? LinkKind::Hard : kind == 1 ? LinkKind::Soft : LinkKind::External;
  if (link.kind == LinkKind::Hard) link.address = image.offset(c);
  if (!c.ok()) return corrupt("a link ends early");
  return link;
}

}  // namespace ec::hdf5
