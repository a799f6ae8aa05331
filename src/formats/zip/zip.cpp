#include "formats/zip/zip.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

#include "formats/zip/crc32.h"
#include "support/strings.h"

namespace ec::zip {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kCentralSize = 46;
constexpr size_t kLocalSize = 30;
constexpr uint16_t kZip64Extra = 1;
// Deflate packs at most 1032 to 1: anything beyond is a lie about the size.
constexpr uint64_t kMaxRatio = 1040;
// What all entries together may unpack to besides the size of the file.
constexpr uint64_t kMaxUnpacked = uint64_t{24} << 20;

Error corrupt(std::string message) {
  return Error(Code::CorruptFile, "zip: " + std::move(message))
      .hint("the archive is damaged: make or copy it again");
}

// Little-endian fields at checked offsets.
class Bytes {
 public:
  explicit Bytes(const FileBytes& file) : file_(file), bytes_(file.span()) {}
  bool has(uint64_t offset, uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }
  // Whether there are such bytes and they could be read.
  bool read(uint64_t offset, uint64_t length) const {
    return has(offset, length) && file_.range(offset, length).ok();
  }
  // Requires read(), for bytes around these.
  template <class T>
  T get(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view text(uint64_t offset, uint64_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, length};
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  const FileBytes& file_;
  std::span<const std::byte> bytes_;
};

struct Directory {
  uint64_t offset, size, count;
};

std::optional<uint64_t> find_end(const Bytes& file) {
  if (file.size() < kEndSize) return std::nullopt;
  const uint64_t last = file.size() - kEndSize;
  const uint64_t first = last > 0xffff ? last - 0xffff : 0;
  // The locator of zip64 stands in front of the end record.
  const uint64_t around = first > kLocatorSize ? first - kLocatorSize : 0;
  if (!file.read(around, file.size() - around)) return std::nullopt;
  for (uint64_t at = last;; --at) {
    if (file.get<uint32_t>(at) == kEnd) return at;
    if (at == first) return std::nullopt;
  }
}

Result<Directory> find_directory(const Bytes& file) {
  const std::optional<uint64_t> end = find_end(file);
  if (!end) return corrupt("no end record");
  Directory directory{file.get<uint32_t>(*end + 16), file.get<uint32_t>(*end + 12),
                      file.get<uint16_t>(*end + 10)};
  if (*end >= kLocatorSize && file.get<uint32_t>(*end - kLocatorSize) == kEnd64Locator) {
    const uint64_t at = file.get<uint64_t>(*end - kLocatorSize + 8);
    if (!file.read(at, kEnd64Size) || file.get<uint32_t>(at) != kEnd64)
      return corrupt("the zip64 end record is missing");
    directory = {file.get<uint64_t>(at + 48), file.get<uint64_t>(at + 40),
                 file.get<uint64_t>(at + 32)};
  }
  if (!file.read(directory.offset, directory.size)) return corrupt("directory outside the file");
  if (directory.count > directory.size / kCentralSize) return corrupt("too many entries");
  return directory;
}

// The 64-bit values of an extra field stand in this order, each only when its 32-bit field is full.
Status read_zip64(const Bytes& file, uint64_t at, uint64_t length, Entry& entry) {
  const uint64_t end = at + length;
  while (end - at >= 4) {
    const auto id = file.get<uint16_t>(at);
    const auto size = file.get<uint16_t>(at + 2);
    at += 4;
    if (size > end - at) return corrupt("extra field outside its entry");
    if (id == kZip64Extra) {
      uint64_t field = at;
      for (uint64_t* value : {&entry.size, &entry.compressed_size, &entry.header_offset}) {
        if (*value != 0xffffffff) continue;
        if (field + 8 > at + size) return corrupt("zip64 field too short");
        *value = file.get<uint64_t>(field);
        field += 8;
      }
    }
    at += size;
  }
  return {};
}

// Nothing is ever unpacked to disk; a name that tries to leave the archive still means an attack.
bool leaves_archive(std::string_view name) {
  if (name.starts_with('/') || name.starts_with('\\') || name.find('\0') != name.npos) return true;
  for (std::string_view part : split(name, '/'))
    if (part == "..") return true;
  return false;
}

Error wrong_checksum(const Entry& entry) {
  return corrupt(fmt::format("entry '{}' fails its checksum", printable(entry.name)));
}

}  // namespace

Result<Archive> Archive::open(FileBytes bytes) {
  const Bytes file(bytes);
  EC_TRY(const Directory directory, find_directory(file));
  Archive archive;
  uint64_t at = directory.offset;
  const uint64_t end = directory.offset + directory.size;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (end - at < kCentralSize || file.get<uint32_t>(at) != kCentralHeader)
      return corrupt("damaged directory");
    Entry entry;
    entry.method = file.get<uint16_t>(at + 10);
    entry.crc = file.get<uint32_t>(at + 16);
    entry.compressed_size = file.get<uint32_t>(at + 20);
    entry.size = file.get<uint32_t>(at + 24);
    entry.header_offset = file.get<uint32_t>(at + 42);
    const uint64_t name_length = file.get<uint16_t>(at + 28);
    const uint64_t extra_length = file.get<uint16_t>(at + 30);
    const uint64_t total = kCentralSize + name_length + extra_length + file.get<uint16_t>(at + 32);
    if (total > end - at) return corrupt("directory entry outside the directory");
    entry.name = file.text(at + kCentralSize, name_length);
    if (leaves_archive(entry.name))
      return corrupt(
          fmt::format("entry '{}' names a path outside the archive", printable(entry.name)));
    EC_CHECK_OK(read_zip64(file, at + kCentralSize + name_length, extra_length, entry));
    at += total;
    archive.entries_.push_back(std::move(entry));
  }
  archive.file_ = std::move(bytes);
  return archive;
}

const Entry* Archive::find(std::string_view name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

Result<FileBytes> Archive::packed(const Entry& entry) const {
  const Bytes file(file_);
  const uint64_t at = entry.header_offset;
  if (!file.read(at, kLocalSize) || file.get<uint32_t>(at) != kLocalHeader)
    return corrupt("entry header outside the file");
  const uint64_t data = at + kLocalSize + file.get<uint16_t>(at + 26) + file.get<uint16_t>(at + 28);
  if (!file.has(data, entry.compressed_size)) return corrupt("entry data outside the file");
  return file_.part(data, entry.compressed_size);
}

Result<Blob> Archive::map(const Entry& entry) const {
  EC_TRY(const FileBytes bytes, packed(entry));
  return bytes.range(0, bytes.size());
}

Result<std::optional<FileBytes>> Archive::part(const Entry& entry) const {
  if (entry.method != 0 || entry.size != entry.compressed_size) return std::optional<FileBytes>();
  EC_TRY(FileBytes bytes, packed(entry));
  return std::optional(std::move(bytes));
}

Status Archive::verify(const Entry& entry) const {
  EC_TRY(const FileBytes bytes, packed(entry));
  uint32_t sum = 0;
  Buffer piece = Buffer::allocate(std::min<size_t>(bytes.size(), size_t{256} << 10));
  if (!piece.ok()) return Error(Code::OutOfMemory, "no memory for a zip entry");
  for (size_t at = 0; at < bytes.size();) {
    const std::span<std::byte> out = piece.bytes().first(std::min(piece.size(), bytes.size() - at));
    EC_CHECK_OK(bytes.read(at, out));
    sum = crc32(sum, out);
    at += out.size();
  }
  return sum == entry.crc ? Status() : wrong_checksum(entry);
}

Result<EntryStream> Archive::stream(const Entry& entry) const {
  if (entry.size / kMaxRatio > entry.compressed_size) return corrupt("impossible unpacked size");
  EC_TRY(Blob packed, map(entry));
  return EntryStream::open(entry.name, std::move(packed), entry.size, entry.crc);
}

Result<Blob> Archive::unpack(const Entry& entry) const {
  EC_TRY(EntryStream unpacked, stream(entry));
  const uint64_t limit = file_.size() + kMaxUnpacked;
  if (entry.size > limit - std::min(limit, unpacked_))
    return Error(Code::TooLarge,
                 fmt::format("zip: entry '{}' unpacks to {} bytes: together with those before it "
                             "more than the size of the file allows",
                             printable(entry.name), entry.size))
        .hint("store the entries without compression");
  unpacked_ += entry.size;
  Buffer out = Buffer::allocate(entry.size);
  if (!out.ok()) return Error(Code::OutOfMemory, "no memory for a zip entry");
  EC_CHECK_OK(unpacked.read(0, out.bytes()));
  EC_CHECK_OK(unpacked.finish());
  return std::move(out).to_blob();
}

Result<Blob> Archive::read(const Entry& entry) const {
  if (entry.method == 8) return unpack(entry);
  if (entry.method != 0)
    return Error(Code::UnsupportedFormat, fmt::format("zip: entry '{}' is packed with method {}",
                                                      printable(entry.name), entry.method))
        .hint("write the archive without compression or with deflate");
  if (entry.size != entry.compressed_size) return corrupt("a stored entry has two sizes");
  EC_TRY(Blob content, map(entry));
  if (crc32(0, content.bytes()) != entry.crc) return wrong_checksum(entry);
  return content;
}

}  // namespace ec::zip
