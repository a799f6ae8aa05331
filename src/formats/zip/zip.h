// ZIP archives, read only: stored and deflated entries, zip64. Sizes come from the central
// directory (APPNOTE 4.3.12); every offset and size is checked against the file. Names that lead
// out of the archive (absolute, "..") are refused for every reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/zip/entry_stream.h"
#include "support/blob.h"
#include "support/file_bytes.h"
#include "support/result.h"

namespace ec::zip {

struct Entry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;
  uint32_t crc = 0;
};

class Archive {
 public:
  static Result<Archive> open(FileBytes file);
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  // A stored entry is a slice of the file; a deflated one is unpacked. The checksum is verified.
  // All that is unpacked is bounded by the size of the file, whatever the entries claim: TooLarge.
  Result<Blob> read(const Entry& entry) const;
  // The packed bytes of an entry as they stand in the file, not verified.
  Result<Blob> map(const Entry& entry) const;
  // The content of a stored entry to be read in parts, not verified; nothing for others.
  Result<std::optional<FileBytes>> part(const Entry& entry) const;
  // Whether a stored entry has the checksum that it should. Keeps none of its bytes.
  Status verify(const Entry& entry) const;
  // A deflated entry, unpacked piece by piece.
  Result<EntryStream> stream(const Entry& entry) const;

 private:
  Result<Blob> unpack(const Entry& entry) const;

  Result<FileBytes> packed(const Entry& entry) const;

  FileBytes file_;
  std::vector<Entry> entries_;
  mutable uint64_t unpacked_ = 0;  // bytes so far
};

}  // namespace ec::zip
