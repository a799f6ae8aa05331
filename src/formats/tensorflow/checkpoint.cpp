#include "formats/tensorflow/checkpoint.h"

#include "formats/protobuf/wire.h"
#include "formats/tensorflow/decode.h"
#include "formats/tensorflow/small_integers.h"
#include "formats/tensorflow/table.h"
#include "formats/tensorflow/tensor_data.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

using wire::guarded;
using wire::Reader;

namespace field {
// BundleHeaderProto
constexpr uint32_t kShards = 1, kEndianness = 2;
// BundleEntryProto
constexpr uint32_t kType = 1, kShape = 2, kShard = 3, kOffset = 4, kSize = 5, kCrc = 6, kSlices = 7;
}  // namespace field

struct Header {
  int64_t shards = 1;
  int64_t endianness = 0;
};

Result<Header> read_header(std::string_view message) {
  return guarded([&]() -> Result<Header> {
    Header header;
    for (Reader r(message); r.next();) {
      if (r.tag() == field::kShards)
        r.read(header.shards);
      else if (r.tag() == field::kEndianness)
        r.read(header.endianness);
      else
        r.skip();
    }
    return header;
  });
}

Result<CheckpointEntry> read_entry(std::string_view message) {
  return guarded([&]() -> Result<CheckpointEntry> {
    CheckpointEntry entry;
    Bytes shape;
    for (Reader r(message); r.next();) {
      switch (r.tag()) {
        case field::kType: {
          int32_t type = 0;
          r.read(type);
          entry.type = static_cast<DataType>(type);
          break;
        }
        case field::kShape:
          r.read(shape);
          break;
        case field::kShard:
          r.read(entry.shard);
          break;
        case field::kOffset:
          r.read(entry.offset);
          break;
        case field::kSize:
          r.read(entry.size);
          break;
        case field::kCrc:
          r.read(entry.crc);
          break;
        case field::kSlices:
          entry.sliced = true;
          r.skip();
          break;
        default:
          r.skip();
      }
    }
    EC_TRY(const PartialShape dims, decode_shape(shape));
    if (dims) entry.dims = *dims;
    return entry;
  });
}

Error damaged(std::string_view key, const std::string& what) {
  return Error(Code::BadTensorData, "checkpoint value '" + printable(key) + "' " + what)
      .hint("the checkpoint is damaged or belongs to another model: copy or export it again");
}

std::string_view text_of(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.bytes().data()), blob.size()};
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const Blob& index, std::string stem, ReadRange read) {
  EC_TRY(const auto table, read_table(text_of(index)));
  Checkpoint checkpoint;
  checkpoint.stem_ = std::move(stem);
  checkpoint.read_ = std::move(read);
  const auto first = table.find("");
  if (first == table.end())
    return Error(Code::CorruptFile, "checkpoint index: the header is missing")
        .hint("the file is damaged: copy or export the model again");
  EC_TRY(const Header header, read_header(first->second));
  if (header.endianness != 0)
    return Error(Code::UnsupportedFormat, "the checkpoint is big-endian")
        .hint("save the model on a little-endian machine");
  if (header.shards < 1 || header.shards > 99999)
    return Error(Code::CorruptFile,
                 "checkpoint index: " + std::to_string(header.shards) + " data files");
  checkpoint.shards_ = header.shards;
  for (const auto& [key, value] : table) {
    if (key.empty()) continue;
    EC_TRY(CheckpointEntry entry, read_entry(value));
    checkpoint.entries_.emplace(key, std::move(entry));
  }
  return checkpoint;
}

const CheckpointEntry* Checkpoint::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string Checkpoint::shard_name(int64_t shard) const {
  const auto five = [](int64_t number) {
    std::string text = std::to_string(number);
    return std::string(5 - std::min<size_t>(5, text.size()), '0') + text;
  };
  return stem_ + ".data-" + five(shard) + "-of-" + five(shards_);
}

Result<Blob> Checkpoint::read(const CheckpointEntry& entry, std::string_view key) const {
  if (entry.sliced)
    return Error(Code::UnsupportedOpForm,
                 "checkpoint value '" + printable(key) + "' is stored in parts")
        .hint("save the model without partitioned variables");
  const auto bytes = tensor_bytes(entry.type, entry.dims);
  if (!bytes)
    return Error(Code::UnsupportedType, "checkpoint value '" + printable(key) + "' is of type " +
                                            data_type_name(entry.type));
  if (entry.size < 0 || static_cast<size_t>(entry.size) != *bytes)
    return damaged(key, "has " + std::to_string(entry.size) + " bytes, its shape and type need " +
                            std::to_string(*bytes));
  if (entry.shard < 0 || entry.shard >= shards_ || entry.offset < 0)
    return damaged(key, "lies outside the data files");
  if (*bytes == 0) return Blob();
  EC_TRY(Blob data,
         read_({shard_name(entry.shard), static_cast<size_t>(entry.offset), *bytes, true}));
  data = without_upper_bits(entry.type, std::move(data));
  if (data.size() != *bytes) return Error(Code::OutOfMemory, "no memory for a variable");
  return data;
}

// A string tensor is the length of each element, a checksum of the lengths, then the texts.
Result<Blob> Checkpoint::read_text(std::string_view key) const {
  const CheckpointEntry* entry = find(key);
  if (entry == nullptr || entry->type != DataType::String || !entry->dims.empty())
    return damaged(key, "is no text");
  if (entry->shard < 0 || entry->shard >= shards_ || entry->offset < 0 || entry->size < 5)
    return damaged(key, "lies outside the data files");
  EC_TRY(const Blob stored, read_({shard_name(entry->shard), static_cast<size_t>(entry->offset),
                                   static_cast<size_t>(entry->size), false}));
  const std::string_view content = text_of(stored);
  size_t at = 0;
  uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at >= content.size() || shift > 56) return damaged(key, "is broken");
    const auto byte = static_cast<unsigned char>(content[at++]);
    length |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) break;
  }
  at += 4;  // the checksum
  if (at > content.size() || length != content.size() - at) return damaged(key, "is broken");
  return stored.slice(at, length);
}

}  // namespace ec::tf
