#include "formats/tensorflow/table.h"

#include <array>
#include <optional>

#include "formats/tensorflow/snappy.h"

namespace ec::tf {
namespace {

using namespace std::string_view_literals;

constexpr size_t kFooterSize = 48;
constexpr std::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb"sv;
constexpr size_t kTrailerSize = 5;  // type and checksum of a block
constexpr char kPlain = 0, kSnappy = 1;
// Blocks of real tables have some kilobytes; one entry may be larger.
constexpr size_t kMaxBlock = size_t{1} << 30;

Error damaged(const std::string& what) {
  return Error(Code::CorruptFile, "checkpoint index: " + what)
      .hint("the file is damaged or was cut off: copy or export the model again");
}

std::optional<uint64_t> read_varint(std::string_view& data) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !data.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(data.front());
    data.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// Requires four bytes.
uint32_t read_u32(std::string_view data) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(data[i])) << (8 * i);
  return value;
}

struct Handle {
  uint64_t offset = 0, size = 0;
};

std::optional<Handle> read_handle(std::string_view& data) {
  const auto offset = read_varint(data);
  const auto size = offset ? read_varint(data) : std::nullopt;
  if (!size) return std::nullopt;
  return Handle{*offset, *size};
}

// Reads blocks of one file; unpacked bytes are charged to it.
class BlockReader {
 public:
  explicit BlockReader(std::string_view file)
      : file_(file), room_((size_t{16} << 20) + 32 * file.size()) {}

  // `unpacked` keeps the bytes alive where they are packed in the file.
  Result<std::string_view> read(const Handle& handle, std::string& unpacked) {
    if (handle.offset > file_.size() || handle.size > file_.size() - handle.offset ||
        file_.size() - handle.offset - handle.size < kTrailerSize)
      return damaged("a block lies outside the file");
    const std::string_view block = file_.substr(handle.offset, handle.size + kTrailerSize);
    const std::string_view content = block.substr(0, handle.size);
    if (read_u32(block.substr(handle.size + 1)) != masked_crc32c(block.substr(0, handle.size + 1)))
      return damaged("the checksum of a block does not match");
    if (block[handle.size] == kPlain) return charge(content);
    if (block[handle.size] != kSnappy) return damaged("a block is packed in an unknown way");
    EC_TRY(unpacked, unpack_snappy(content, std::min(kMaxBlock, room_)));
    return charge(unpacked);
  }

 private:
  // The same block may be named many times.
  Result<std::string_view> charge(std::string_view block) {
    if (block.size() > room_) return damaged("it unpacks to more than it can hold");
    room_ -= block.size();
    return block;
  }

  std::string_view file_;
  size_t room_;
};

// Calls f(key, value) for each entry, in order. Keys share a prefix with the one before.
template <class F>
Status for_each_entry(std::string_view block, F&& f) {
  if (block.size() < 4) return damaged("a block is too short");
  const uint64_t restarts = read_u32(block.substr(block.size() - 4));
  if (restarts > (block.size() - 4) / 4) return damaged("a block's end is broken");
  block.remove_suffix(4 + 4 * restarts);
  std::string key;
  while (!block.empty()) {
    const auto shared = read_varint(block), added = read_varint(block), size = read_varint(block);
    if (!shared || !added || !size || *shared > key.size() || *added > block.size() ||
        *size > block.size() - *added)
      return damaged("an entry is broken");
    key.resize(*shared);
    key += block.substr(0, *added);
    EC_CHECK_OK(f(key, block.substr(*added, *size)));
    block.remove_prefix(*added + *size);
  }
  return {};
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc ^= 0xffffffffu;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

Result<std::map<std::string, std::string>> read_table(std::string_view file) {
  if (file.size() < kFooterSize || !file.ends_with(kMagic))
    return damaged("it does not end as such a file does");
  std::string_view footer = file.substr(file.size() - kFooterSize);
  const auto meta = read_handle(footer);
  const auto index = meta ? read_handle(footer) : std::nullopt;
  if (!index) return damaged("its end is broken");
  BlockReader reader(file);
  std::string unpacked_index, unpacked;
  EC_TRY(const std::string_view index_block, reader.read(*index, unpacked_index));
  std::map<std::string, std::string> entries;
  // Entries with long keys that share a prefix hold more than the file: charged like blocks.
  size_t room = (size_t{16} << 20) + 32 * file.size();
  EC_CHECK_OK(
      for_each_entry(index_block, [&](const std::string&, std::string_view value) -> Status {
        const auto handle = read_handle(value);
        if (!handle) return damaged("a reference to a block is broken");
        EC_TRY(const std::string_view block, reader.read(*handle, unpacked));
        return for_each_entry(block, [&](const std::string& key, std::string_view entry) -> Status {
          const size_t bytes = key.size() + entry.size() + 64;
          if (bytes > room) return damaged("it holds more than its size can justify");
          room -= bytes;
          entries[key] = std::string(entry);
          return {};
        });
      }));
  return entries;
}

}  // namespace ec::tf
