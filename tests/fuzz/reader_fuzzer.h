// What the fuzzers of readers share: the bound on memory, files that are bytes in memory, and
// mutations that keep an archive sound around a damaged record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "fuzz/allocation_meter.h"
#include "support/blob.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ec::fuzz {

// Ends the process when what happens while it lives takes more memory than SECURITY.md promises
// for a file of this size.
class MemoryBound {
 public:
  explicit MemoryBound(size_t file_size) : file_size_(file_size) {}
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

 private:
  size_t file_size_;
  AllocationMeter meter_;
};

// A regular file without a name on disk, for readers that open a path. One at a time.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> content);
  const std::filesystem::path& path() const;
};

inline Blob blob_of(const uint8_t* data, size_t size) {
  return Blob::copy_of(std::span<const uint8_t>(data, size));
}
inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// For LLVMFuzzerCustomMutator: damages one record of a ZIP archive and writes the archive anew,
// with sizes and checksums that fit. Bytes that are no archive, and one of eight that are, are
// damaged as they stand.
size_t mutate_archive(uint8_t* data, size_t size, size_t max_size, unsigned seed);

// `mutate` makes a damaged copy; a copy that is too long is dropped for a plain mutation.
template <class Mutator>
size_t mutate_with(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 4 == 0 && size > 0) {
    std::string what;
    const std::string made =
        Mutator(seed).mutate(std::string(reinterpret_cast<const char*>(data), size), what);
    if (made.size() <= max_size) {
      std::copy(made.begin(), made.end(), reinterpret_cast<char*>(data));
      return made.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace ec::fuzz
