// A deflated entry of a ZIP archive, unpacked from front to back: any part can be had without
// memory for the whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "support/blob.h"
#include "support/result.h"

struct z_stream_s;

namespace ec::zip {

class EntryStream {
 public:
  // `size` and `crc` are what the directory says of the unpacked entry.
  static Result<EntryStream> open(std::string name, Blob packed, uint64_t size, uint32_t crc);

  // Fills `out` from this byte on; CorruptFile when the entry ends before. Going back starts again
  // from the front.
  Status read(uint64_t offset, std::span<std::byte> out);
  // Unpacks what is left: CorruptFile when size or checksum are not those of the directory. The
  // checksum counts when nothing was skipped by going back.
  Status finish();

 private:
  struct Close {
    void operator()(z_stream_s* stream) const;
  };
  EntryStream() = default;
  Status restart();
  Status next(std::span<std::byte> out);  // the bytes that follow
  Status skip(uint64_t count);
  Error damaged() const;

  std::string name_;
  Blob packed_;
  uint64_t size_ = 0, position_ = 0;
  size_t consumed_ = 0;
  uint32_t crc_ = 0, running_crc_ = 0;
  std::unique_ptr<z_stream_s, Close> stream_;
};

}  // namespace ec::zip
