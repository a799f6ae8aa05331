// The elements of datasets. Data in one piece are a slice of the file; chunks are unpacked and put
// together.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "formats/hdf5/header.h"
#include "support/budget.h"

namespace ec::hdf5 {
namespace {

enum : uint16_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3 };

Error too_large(uint64_t bytes) {
  return Error(
             Code::TooLarge,
             fmt::format("HDF5: a dataset unpacks to {} bytes: together with those before it more "
                         "than the size of the file allows",
                         bytes))
      .hint("write the datasets without compression");
}

Status charge(UnpackBudget& budget, uint64_t bytes) {
  if (bytes > budget.left) return too_large(bytes);
  budget.left -= bytes;
  return {};
}

class Chunks {
 public:
  Chunks(const Image& image, const Header& header, uint64_t bytes, UnpackBudget& budget)
      : image_(image),
        layout_(*header.layout),
        filters_(header.filters),
        shape_(*header.shape),
        element_(header.type->size),
        bytes_(bytes),
        budget_(budget) {}

  Result<Blob> read() {
    if (layout_.chunk.size() != shape_.size()) return corrupt("chunks and data differ in rank");
    chunk_bytes_ = element_;
    chunk_count_ = 1;
    for (size_t i = 0; i < shape_.size(); ++i) {
      if (__builtin_mul_overflow(chunk_bytes_, static_cast<uint64_t>(layout_.chunk[i]),
                                 &chunk_bytes_))
        return corrupt("the size of a chunk is out of range");
      const auto along =
          static_cast<uint64_t>((shape_[i] + layout_.chunk[i] - 1) / layout_.chunk[i]);
      if (__builtin_mul_overflow(chunk_count_, along, &chunk_count_))
        return corrupt("the number of chunks is out of range");
    }
    EC_CHECK_OK(charge(budget_, bytes_));
    out_ = Buffer::allocate(bytes_);
    if (!out_.ok()) return Error(Code::OutOfMemory, "no memory for a dataset");
    if (layout_.address != kUndefined) EC_CHECK_OK(walk());
    return std::move(out_).to_blob();
  }

 private:
  Status walk() {
    switch (layout_.index) {
      case ChunkIndex::TreeV1:
        return tree();
      case ChunkIndex::Single:
        return place(std::vector<int64_t>(shape_.size(), 0), layout_.address,
                     filters_.empty() ? chunk_bytes_ : layout_.filtered_size, layout_.filter_mask);
      case ChunkIndex::Implicit:
        return in_order([&](uint64_t i) {
          return Found{layout_.address + i * chunk_bytes_, chunk_bytes_, 0};
        });
      case ChunkIndex::FixedArray:
        return fixed_array();
    }
    return {};
  }

  struct Found {
    uint64_t address, size;
    uint32_t mask;
  };

  Status in_order(const std::function<Found(uint64_t)>& chunk) {
    if (chunk_count_ > image_.size()) return corrupt("more chunks than the file can hold");
    for (uint64_t i = 0; i < chunk_count_; ++i) {
      const Found found = chunk(i);
      if (found.address != kUndefined)
        EC_CHECK_OK(place(begin_of(i), found.address, found.size, found.mask));
    }
    return {};
  }

  // The first element of a chunk by its number in row-major order.
  std::vector<int64_t> begin_of(uint64_t number) const {
    std::vector<int64_t> at(shape_.size());
    for (size_t d = at.size(); d > 0; --d) {
      const auto along =
          static_cast<uint64_t>((shape_[d - 1] + layout_.chunk[d - 1] - 1) / layout_.chunk[d - 1]);
      at[d - 1] = static_cast<int64_t>(number % along) * layout_.chunk[d - 1];
      number /= along;
    }
    return at;
  }

  Status fixed_array() {
    Cursor c = image_.at(layout_.address);
    if (!c.expect("FAHD")) return corrupt("an index of chunks is not where it should be");
    c.skip(1);
    const bool filtered = c.u8() == 1;
    const unsigned entry = c.u8(), page_bits = c.u8();
    const uint64_t count = image_.length(c);
    Cursor block = image_.at(image_.offset(c));
    if (!c.ok() || !block.expect("FADB")) return corrupt("an index of chunks is not valid");
    if (page_bits < 64 && count > uint64_t{1} << page_bits)
      return unsupported("an index of chunks with pages (libver='latest')");
    const unsigned size_width = filtered ? entry - image_.offset_size - 4 : 0;
    if (count != chunk_count_ || (filtered && (size_width < 1 || size_width > 8)))
      return corrupt("an index of chunks is not valid");
    block.skip(2 + image_.offset_size);
    bool ok = true;
    EC_CHECK_OK(in_order([&](uint64_t) {
      Found found{image_.offset(block), chunk_bytes_, 0};
      if (filtered) {
        found.size = block.number(size_width);
        found.mask = block.u32();
      }
      if (!block.ok()) ok = false, found.address = kUndefined;
      return found;
    }));
    return ok ? Status() : corrupt("an index of chunks ends early");
  }

  Status tree() {
    std::set<uint64_t> seen;
    std::vector<std::pair<uint64_t, int>> pending = {{layout_.address, -1}};
    while (!pending.empty()) {
      const auto [address, level] = pending.back();
      pending.pop_back();
      if (!seen.insert(address).second) return corrupt("a tree of chunks has a circle");
      Cursor c = image_.at(address);
      if (!c.expect("TREE") || c.u8() != 1)
        return corrupt("a tree of chunks is not where it should be");
      const int own = c.u8();
      if (level >= 0 && own != level - 1) return corrupt("a tree of chunks has mixed levels");
      const unsigned entries = c.u16();
      c.skip(2 * image_.offset_size);
      for (unsigned i = 0; i < entries; ++i) {
        const uint32_t size = c.u32(), mask = c.u32();
        std::vector<int64_t> at(shape_.size());
        for (int64_t& begin : at) begin = static_cast<int64_t>(c.u64());
        c.u64();
        const uint64_t child = image_.offset(c);
        if (!c.ok()) return corrupt("a tree of chunks ends early");
        if (own > 0) {
          pending.emplace_back(child, own);
        } else {
          if (!seen_.insert(at).second) return corrupt("a chunk stands twice in its tree");
          EC_CHECK_OK(place(at, child, size, mask));
        }
      }
    }
    return {};
  }

  // Puts the chunk that begins at these elements where it belongs.
  Status place(const std::vector<int64_t>& at, uint64_t address, uint64_t size, uint32_t mask) {
    EC_CHECK_OK(check_budget());
    for (size_t d = 0; d < at.size(); ++d)
      if (at[d] < 0 || at[d] >= shape_[d] || at[d] % layout_.chunk[d] != 0)
        return corrupt("a chunk lies outside its dataset");
    Cursor c = image_.at(address);
    const Bytes packed = c.take(size);
    if (!c.ok()) return corrupt("a chunk leaves the file");
    EC_TRY(const Bytes chunk, unfiltered(packed, mask));
    copy(at, chunk);
    return {};
  }

  Result<Bytes> unfiltered(Bytes data, uint32_t mask) {
    EC_CHECK_OK(charge(budget_, filters_.empty() ? 0 : chunk_bytes_));
    for (size_t i = filters_.size(); i-- > 0;) {
      if (i < 32 && (mask >> i & 1) != 0) continue;
      switch (filters_[i].id) {
        case kDeflate: {
          EC_TRY(data, inflated(data));
          break;
        }
        case kShuffle:
          data = unshuffled(data, filters_[i].values.empty() ? element_ : filters_[i].values[0]);
          break;
        case kFletcher32:
          if (data.size() < 4) return corrupt("a chunk is too short for its checksum");
          data = data.first(data.size() - 4);
          break;
        default:
          return unsupported(fmt::format("data that are packed with filter {}", filters_[i].id));
      }
    }
    if (data.size() != chunk_bytes_) return corrupt("a chunk has not the size of its elements");
    return data;
  }

  // Deflate may stand in front of a checksum, which is why a few more bytes have room.
  Result<Bytes> inflated(Bytes packed) {
    std::vector<std::byte>& out = spare();
    out.resize(chunk_bytes_ + 4);
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return Error(Code::OutOfMemory, "no memory to unpack");
    size_t done = 0, read = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      constexpr size_t kStep = size_t{1} << 30;
      const size_t in = std::min(kStep, packed.size() - read),
                   room = std::min(kStep, out.size() - done);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream.avail_out = static_cast<uInt>(room);
      status = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      done += room - stream.avail_out;
      if (stream.avail_in == in && stream.avail_out == room && status == Z_OK) break;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END) return corrupt("a chunk cannot be unpacked");
    return Bytes(out).first(done);
  }

  Bytes unshuffled(Bytes data, size_t element) {
    const size_t count = element > 0 ? data.size() / element : 0;
    if (element < 2 || count < 2) return data;
    std::vector<std::byte>& out = spare();
    out.resize(data.size());
    for (size_t b = 0; b < element; ++b)
      for (size_t i = 0; i < count; ++i) out[i * element + b] = data[b * count + i];
    const size_t whole = count * element;
    std::copy(data.begin() + static_cast<std::ptrdiff_t>(whole), data.end(),
              out.begin() + static_cast<std::ptrdiff_t>(whole));
    return out;
  }

  // Two buffers that take turns.
  std::vector<std::byte>& spare() {
    turn_ = !turn_;
    return turn_ ? first_ : second_;
  }

  void copy(const std::vector<int64_t>& at, Bytes chunk) {
    const size_t rank = shape_.size();
    if (rank == 0) {
      std::memcpy(out_.data(), chunk.data(), element_);
      return;
    }
    std::vector<int64_t> extent(rank), index(rank, 0);
    for (size_t d = 0; d < rank; ++d) extent[d] = std::min(layout_.chunk[d], shape_[d] - at[d]);
    const size_t run = static_cast<size_t>(extent[rank - 1]) * element_;
    while (true) {
      uint64_t from = 0, to = 0;
      for (size_t d = 0; d < rank; ++d) {
        from = from * static_cast<uint64_t>(layout_.chunk[d]) + static_cast<uint64_t>(index[d]);
        to = to * static_cast<uint64_t>(shape_[d]) + static_cast<uint64_t>(at[d] + index[d]);
      }
      std::memcpy(out_.data() + to * element_, chunk.data() + from * element_, run);
      bool more = false;
      for (size_t d = rank - 1; d > 0 && !more; --d) {
        more = ++index[d - 1] < extent[d - 1];
        if (!more) index[d - 1] = 0;
      }
      if (!more) return;
    }
  }

  const Image& image_;
  const Layout& layout_;
  const std::vector<Filter>& filters_;
  const std::vector<int64_t>& shape_;
  uint64_t element_, bytes_, chunk_bytes_ = 0, chunk_count_ = 0;
  UnpackBudget& budget_;
  Buffer out_;
  std::set<std::vector<int64_t>> seen_;
  std::vector<std::byte> first_, second_;
  bool turn_ = false;
};

}  // namespace

Result<Array> read_dataset(const Image& image, const Header& header, UnpackBudget& budget) {
  if (!header.odd_type.empty()) return unsupported(header.odd_type);
  if (!header.odd_layout.empty()) return unsupported(header.odd_layout);
  if (header.external_files)
    return unsupported("a dataset whose data are in another file; such files are not opened");
  if (!header.type || !header.shape || !header.layout) return corrupt("an object is no dataset");
  Array array{*header.type, *header.shape, {}};
  EC_TRY(const uint64_t bytes, array_bytes(array.type, array.shape));
  const Layout& layout = *header.layout;
  if (bytes == 0) return array;
  switch (layout.kind) {
    case Layout::Kind::Compact: {
      if (layout.compact.size() < bytes) return corrupt("a dataset has fewer bytes than elements");
      EC_TRY(array.data, image.blob(layout.compact.first(bytes)));
      return array;
    }
    case Layout::Kind::Contiguous: {
      if (layout.address == kUndefined) {  // never written: zeros
        EC_CHECK_OK(charge(budget, bytes));
        Buffer zeros = Buffer::allocate(bytes);
        if (!zeros.ok()) return Error(Code::OutOfMemory, "no memory for a dataset");
        array.data = std::move(zeros).to_blob();
        return array;
      }
      if (layout.size < bytes) return corrupt("a dataset has fewer bytes than elements");
      Cursor c = image.at(layout.address);
      c.skip(bytes);
      if (!c.ok()) return corrupt("a dataset leaves the file");
      EC_TRY(array.data, image.file.later(layout.address, bytes));
      return array;
    }
    case Layout::Kind::Chunked: {
      EC_TRY(array.data, Chunks(image, header, bytes, budget).read());
      return array;
    }
    case Layout::Kind::None:
      break;
  }
  return corrupt("an object is no dataset");
}

}  // namespace ec::hdf5
