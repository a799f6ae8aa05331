// The bytes of a file: whole in memory, or in the file and read in parts. Readers of formats take
// this, so that the same code serves both. Copies share what was read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "support/blob.h"
#include "support/input_file.h"
#include "support/result.h"

namespace ec {

class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(Blob whole);  // NOLINT(google-explicit-constructor): bytes are bytes
  static Result<FileBytes> open(InputFile file);

  size_t size() const { return size_; }
  bool in_memory() const { return state_ == nullptr; }
  // The place of all bytes in memory. What no range covered yet is zero.
  std::span<const std::byte> span() const;
  // A view of bytes that are read now, where that is needed. Requires offset + length <= size().
  Result<Blob> range(size_t offset, size_t length) const;
  // The same for bytes that may be read later (support/deferred_bytes.h). Short ones are read now.
  Result<Blob> later(size_t offset, size_t length) const;
  // Bytes that nobody keeps, such as those of which a checksum is wanted.
  Status read(size_t offset, std::span<std::byte> out) const;
  // The bytes from `offset` on as a file of their own. Requires offset + length <= size().
  FileBytes part(size_t offset, size_t length) const;

  // The file behind it; null for bytes in memory.
  const InputFile* file() const;
  // What reading failed with, if it did: readers that only know "the bytes are not there" then
  // speak of a damaged file.
  Status fault() const;

 private:
  struct State;
  class Range;

  std::shared_ptr<State> state_;  // null: in memory
  Blob whole_;
  size_t base_ = 0, size_ = 0;
};

}  // namespace ec
