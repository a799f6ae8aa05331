// Dense storage of links and attributes (libver='latest', or more attributes than a header takes):
// a tree of the second version whose records name objects of a fractal heap.
#include <bit>
#include <map>
#include <set>

#include "formats/hdf5/header.h"

namespace ec::hdf5 {
namespace {

// Bytes that hold numbers up to `limit`.
unsigned bytes_for(uint64_t limit) {
  return limit == 0 ? 1 : static_cast<unsigned>(std::bit_width(limit) + 7) / 8;
}

using RecordFn = std::function<Status(Bytes record)>;

// A tree of the second version, every record in order of its nodes.
class TreeV2 {
 public:
  TreeV2(const Image& image, const RecordFn& each) : image_(image), each_(each) {}

  Status read(uint64_t address, uint8_t type) {
    Cursor c = image_.at(address);
    if (!c.expect("BTHD") || c.u8() != 0 || c.u8() != type)
      return corrupt("an index is not where it should be");
    node_size_ = c.u32();
    record_size_ = c.u16();
    const unsigned depth = c.u16();
    c.skip(2);
    const uint64_t root = image_.offset(c);
    const unsigned records = c.u16();
    if (!c.ok() || record_size_ == 0 || node_size_ < 16 || depth > 16)
      return corrupt("an index is not valid");
    count_sizes(depth);
    if (records == 0 || root == kUndefined) return {};
    return node(root, records, depth);
  }

 private:
  // How many records nodes of each depth hold, and below them: the widths of the counts.
  void count_sizes(unsigned depth) {
    uint64_t most = (node_size_ - 10) / record_size_, total = most;
    own_width_ = {bytes_for(most)};
    total_width_ = {0};
    for (unsigned d = 1; d <= depth; ++d) {
      const uint64_t pointer = image_.offset_size + own_width_[d - 1] + total_width_[d - 1];
      const uint64_t next =
          node_size_ > 10 + pointer ? (node_size_ - 10 - pointer) / (record_size_ + pointer) : 0;
      total = total > (uint64_t{1} << 40) ? total : (next + 1) * total + next;
      own_width_.push_back(bytes_for(next));
      total_width_.push_back(bytes_for(total));
    }
  }

  Status node(uint64_t address, unsigned records, unsigned depth) {
    if (!seen_.insert(address).second) return corrupt("an index has a circle");
    Cursor c = image_.at(address);
    if (!c.expect(depth == 0 ? "BTLF" : "BTIN"))
      return corrupt("an index is not where it should be");
    c.skip(2);
    for (unsigned i = 0; i < records; ++i) {
      const Bytes record = c.take(record_size_);
      if (!c.ok()) return corrupt("an index ends early");
      EC_CHECK_OK(each_(record));
    }
    if (depth == 0) return {};
    for (unsigned i = 0; i <= records; ++i) {
      const uint64_t child = image_.offset(c);
      const auto count = static_cast<unsigned>(c.number(own_width_[depth - 1]) & 0xffff);
      c.skip(depth > 1 ? total_width_[depth - 1] : 0);
      if (!c.ok()) return corrupt("an index ends early");
      EC_CHECK_OK(node(child, count, depth - 1));
    }
    return {};
  }

  const Image& image_;
  const RecordFn& each_;
  uint64_t node_size_ = 0;
  uint16_t record_size_ = 0;
  std::vector<unsigned> own_width_, total_width_;
  std::set<uint64_t> seen_;
};

class FractalHeap {
 public:
  explicit FractalHeap(const Image& image) : image_(image) {}

  Status open(uint64_t address) {
    Cursor c = image_.at(address);
    if (!c.expect("FRHP") || c.u8() != 0) return corrupt("a heap is not where it should be");
    id_size_ = c.u16();
    const unsigned filters = c.u16();
    c.u8();  // flags
    const uint32_t largest_managed = c.u32();
    image_.length(c);
    huge_tree_ = image_.offset(c);
    image_.length(c);
    image_.offset(c);
    c.skip(8 * image_.length_size);  // sizes and counts
    width_ = c.u16();
    first_block_ = image_.length(c);
    largest_block_ = image_.length(c);
    const unsigned bits = c.u16();
    c.u16();
    root_ = image_.offset(c);
    rows_ = c.u16();
    if (!c.ok()) return corrupt("a heap ends early");
    if (filters != 0) return unsupported("a filtered heap");
    if (width_ == 0 || width_ > 256 || largest_block_ > (uint64_t{1} << 30) ||
        !std::has_single_bit(first_block_) || !std::has_single_bit(largest_block_) ||
        largest_block_ < first_block_ || bits > 64 || rows_ > 64 || id_size_ < 1)
      return corrupt("a heap is not valid");
    offset_width_ = (bits + 7) / 8;
    length_width_ = std::min((static_cast<unsigned>(std::bit_width(largest_block_) - 1) + 7) / 8,
                             bytes_for(largest_managed));
    return {};
  }

  // The object that an id names.
  Result<Bytes> object(Bytes id) {
    Cursor c(id);
    const uint8_t head = c.u8();
    if ((head & 0xc0) != 0) return corrupt("a heap id of an unknown version");
    switch (head >> 4 & 3) {
      case 0: {
        const uint64_t at = c.number(offset_width_), length = c.number(length_width_);
        if (!c.ok()) return corrupt("a heap id ends early");
        return managed(at, length);
      }
      case 1:
        return huge(c);
      case 2:
        return c.take((head & 15u) + 1);
      default:
        return corrupt("a heap id of an unknown kind");
    }
  }

 private:
  uint64_t block_size(unsigned row) const {
    return row < 2 ? first_block_ : first_block_ << std::min(row - 1, 24u);
  }
  unsigned direct_rows() const {
    return static_cast<unsigned>(std::bit_width(largest_block_) - std::bit_width(first_block_)) + 2;
  }

  Result<Bytes> managed(uint64_t at, uint64_t length) {
    uint64_t block = root_, begin = 0;
    unsigned rows = rows_;
    // Down through indirect blocks to the direct one that holds the offset.
    for (int depth = 0; rows > 0; ++depth) {
      if (depth > 16) return corrupt("a heap has a circle");
      Cursor c = image_.at(block);
      if (!c.expect("FHIB")) return corrupt("a heap's block is not where it should be");
      c.skip(1 + image_.offset_size + offset_width_);
      uint64_t row_begin = begin;
      unsigned row = 0;
      while (row < rows && at - row_begin >= width_ * block_size(row)) {
        row_begin += width_ * block_size(row);
        ++row;
      }
      if (row == rows) return corrupt("a heap id is outside its heap");
      const uint64_t column = (at - row_begin) / block_size(row);
      c.skip((uint64_t{row} * width_ + column) * image_.offset_size);
      block = image_.offset(c);
      if (!c.ok()) return corrupt("a heap's block ends early");
      begin = row_begin + column * block_size(row);
      if (row < direct_rows()) {
        rows = 0;
      } else {
        rows = static_cast<unsigned>(std::bit_width(block_size(row)) -
                                     std::bit_width(first_block_ * width_)) +
               1;
        if (rows > 64) return corrupt("a heap is not valid");
      }
    }
    if (!image_.at(block).expect("FHDB"))
      return corrupt("a heap's block is not where it should be");
    if (at < begin || at - begin > largest_block_) return corrupt("a heap id is outside its heap");
    Cursor c = image_.at(block);
    c.skip(at - begin);
    const Bytes object = c.take(length);
    if (!c.ok()) return corrupt("an object of a heap leaves the file");
    return object;
  }

  Result<Bytes> huge(Cursor& id) {
    if (id.left() >= image_.offset_size + image_.length_size) {
      Cursor c = image_.at(image_.offset(id));
      const Bytes object = c.take(image_.length(id));
      if (!c.ok()) return corrupt("an object of a heap leaves the file");
      return object;
    }
    if (!huge_read_) {
      huge_read_ = true;
      EC_CHECK_OK(TreeV2(image_, [&](Bytes record) -> Status {
                    Cursor c(record);
                    const uint64_t at = image_.offset(c), length = image_.length(c);
                    const uint64_t key = image_.length(c);
                    if (!c.ok()) return corrupt("an index ends early");
                    huge_[key] = {at, length};
                    return {};
                  }).read(huge_tree_, 1));
    }
    const auto found =
        huge_.find(id.number(static_cast<unsigned>(std::min<uint64_t>(id.left(), 8))));
    if (found == huge_.end()) return corrupt("a heap has no such object");
    Cursor c = image_.at(found->second.first);
    const Bytes object = c.take(found->second.second);
    if (!c.ok()) return corrupt("an object of a heap leaves the file");
    return object;
  }

  const Image& image_;
  unsigned id_size_ = 0, offset_width_ = 0, length_width_ = 0, rows_ = 0;
  uint64_t width_ = 0, first_block_ = 0, largest_block_ = 0, root_ = 0, huge_tree_ = 0;
  bool huge_read_ = false;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> huge_;
};

}  // namespace

Status read_dense(const Image& image, uint64_t heap_address, uint64_t tree, bool attributes,
                  const MessageFn& each) {
  FractalHeap heap(image);
  EC_CHECK_OK(heap.open(heap_address));
  uint64_t held = 0;
  const RecordFn record = [&](Bytes bytes) -> Status {
    // Attributes: id, flags, order, hash. Links: hash, id.
    const uint64_t begin = attributes ? 0 : 4, size = attributes ? 8 : 7;
    if (bytes.size() < begin + size) return corrupt("an index is not valid");
    if (attributes && (static_cast<uint8_t>(bytes[8 < bytes.size() ? 8 : 0]) & 2) != 0)
      return unsupported("a shared attribute");
    EC_TRY(const Bytes message, heap.object(bytes.subspan(begin, size)));
    held += 64 + message.size();
    if (held > 8 * image.size() + (1 << 20)) return corrupt("objects of a heap overlap");
    return each(message);
  };
  return TreeV2(image, record).read(tree, attributes ? 8 : 5);
}

}  // namespace ec::hdf5
