#include "formats/zip/entry_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "formats/zip/crc32.h"
#include "support/strings.h"

namespace ec::zip {
namespace {

// zlib counts in 32 bits.
constexpr size_t kMost = size_t{1} << 30;

}  // namespace

void EntryStream::Close::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;  // NOLINT: pairs with new in restart()
}

Error EntryStream::damaged() const {
  return Error(Code::CorruptFile,
               fmt::format("zip: entry '{}' does not unpack to its size and checksum",
                           printable(name_)))
      .hint("the archive is damaged: make or copy it again");
}

Result<EntryStream> EntryStream::open(std::string name, Blob packed, uint64_t size, uint32_t crc) {
  EntryStream stream;
  stream.name_ = std::move(name);
  stream.packed_ = std::move(packed);
  stream.size_ = size;
  stream.crc_ = crc;
  EC_CHECK_OK(stream.restart());
  return stream;
}

Status EntryStream::restart() {
  auto stream = std::make_unique<z_stream>();
  if (inflateInit2(stream.get(), -MAX_WBITS) != Z_OK)
    return Error(Code::OutOfMemory, "no memory to unpack a zip entry");
  stream_.reset(stream.release());
  consumed_ = 0;
  position_ = 0;
  running_crc_ = 0;
  return {};
}

Status EntryStream::next(std::span<std::byte> out) {
  if (out.size() > size_ - std::min(size_, position_)) return damaged();
  while (!out.empty()) {
    const size_t in = std::min(packed_.size() - consumed_, kMost);
    const size_t room = std::min(out.size(), kMost);
    stream_->next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed_.bytes().data() + consumed_));
    stream_->avail_in = static_cast<uInt>(in);
    stream_->next_out = reinterpret_cast<Bytef*>(out.data());
    stream_->avail_out = static_cast<uInt>(room);
    const int status = inflate(stream_.get(), Z_NO_FLUSH);
    const size_t got = room - stream_->avail_out;
    consumed_ += in - stream_->avail_in;
    running_crc_ = crc32(running_crc_, out.first(got));
    position_ += got;
    out = out.subspan(got);
    const bool stuck = status != Z_OK || (got == 0 && in == stream_->avail_in);
    if (!out.empty() && stuck) return damaged();
  }
  return {};
}

Status EntryStream::skip(uint64_t count) {
  std::array<std::byte, size_t{64} << 10> scratch;
  while (count > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(count, scratch.size()));
    EC_CHECK_OK(next(std::span(scratch).first(part)));
    count -= part;
  }
  return {};
}

Status EntryStream::read(uint64_t offset, std::span<std::byte> out) {
  if (offset < position_) EC_CHECK_OK(restart());
  EC_CHECK_OK(skip(offset - position_));
  return next(out);
}

Status EntryStream::finish() {
  EC_CHECK_OK(skip(size_ - position_));
  // One byte more would be a lie about the size.
  std::byte extra{};
  stream_->next_in =
      reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed_.bytes().data() + consumed_));
  stream_->avail_in = static_cast<uInt>(std::min(packed_.size() - consumed_, kMost));
  stream_->next_out = reinterpret_cast<Bytef*>(&extra);
  stream_->avail_out = 1;
  const int status = inflate(stream_.get(), Z_NO_FLUSH);
  if (status != Z_STREAM_END || stream_->avail_out != 1 || running_crc_ != crc_) return damaged();
  return {};
}

}  // namespace ec::zip
