// The weight file in the making: MIL blob storage, version 2.
#include <cstring>
#include <string_view>

#include "formats/coreml/package.h"
#include "formats/coreml/weight_layout.h"

namespace ec::coreml {
namespace {

uint64_t padded(uint64_t size) {
  return (size + weight_layout::kAlignment - 1) / weight_layout::kAlignment *
         weight_layout::kAlignment;
}

// FNV-1a over the first and last bytes and the size: a guess that the comparison of contents
// settles. Files of many weights that begin and end alike are rare.
uint64_t guess(DataType type, std::span<const std::byte> bytes) {
  constexpr size_t kSample = 4096;
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  mix(static_cast<uint64_t>(type));
  mix(bytes.size());
  for (const std::byte b : bytes.first(std::min(bytes.size(), kSample)))
    mix(static_cast<uint64_t>(b));
  for (const std::byte b : bytes.last(std::min(bytes.size(), kSample)))
    mix(static_cast<uint64_t>(b));
  return hash;
}

template <class T>
void put(Buffer& buffer, size_t offset, T value) {
  std::memcpy(buffer.data() + offset, &value, sizeof value);
}

}  // namespace

WeightRef WeightFile::add(DataType type, int64_t elements, const Blob& data) {
  const uint64_t hash = guess(type, data.bytes());
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = entries_[it->second];
    if (entry.type == type && entry.elements == elements && entry.data == data)
      return {.offset = entry.offset};
  }
  by_hash_.emplace(hash, entries_.size());
  entries_.push_back({type, elements, data, end_});
  const uint64_t offset = end_;
  end_ = padded(end_ + weight_layout::kMetadataBytes + data.size());
  return {.offset = offset};
}

bool WeightFile::empty() const { return entries_.empty(); }

std::vector<Blob> WeightFile::finish() && {
  std::vector<Blob> parts;
  Buffer header = Buffer::allocate(weight_layout::kHeaderBytes);
  put(header, 0, static_cast<uint32_t>(entries_.size()));
  put(header, 4, weight_layout::kVersion);
  parts.push_back(std::move(header).to_blob());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const uint64_t data_at = entry.offset + weight_layout::kMetadataBytes;
    const uint64_t bits =
        static_cast<uint64_t>(entry.elements) * static_cast<uint64_t>(bits_of(entry.type));
    Buffer metadata = Buffer::allocate(weight_layout::kMetadataBytes);
    put(metadata, weight_layout::kSentinelAt, weight_layout::kSentinel);
    put(metadata, weight_layout::kTypeAt, weight_layout::code_of(entry.type));
    put(metadata, weight_layout::kSizeAt, static_cast<uint64_t>(entry.data.size()));
    put(metadata, weight_layout::kOffsetAt, data_at);
    put(metadata, weight_layout::kPaddingBitsAt, (8 - bits % 8) % 8);
    parts.push_back(std::move(metadata).to_blob());
    if (!entry.data.empty()) parts.push_back(entry.data);
    const uint64_t gap = padded(data_at + entry.data.size()) - (data_at + entry.data.size());
    // Nothing needs to follow the last one.
    if (gap > 0 && i + 1 < entries_.size()) parts.push_back(Buffer::allocate(gap).to_blob());
  }
  return parts;
}

}  // namespace ec::coreml
