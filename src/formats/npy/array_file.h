// Arrays whose elements stay in their file until they are asked for, so that a data set needs the
// memory of a sample and not its own.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "formats/npy/npy.h"
#include "formats/zip/entry_stream.h"
#include "support/input_file.h"

namespace ec::npy {

class ArrayFile {
 public:
  // A .npy file. Errors: BadArrayFile, and those of InputFile::open.
  static Result<ArrayFile> open(const std::filesystem::path& path);
  // An array of a .npz file; with an empty name the only one. An array that would unpack to far
  // more than its file is TooLarge.
  static Result<ArrayFile> open_npz(const std::filesystem::path& path, std::string_view name);
  // Elements without a header; the file's size must be that of `array`.
  static ArrayFile of_raw(InputFile file, Array array);
  static ArrayFile in_memory(Array array);

  // The form; `data` is empty, unless the array is in memory.
  const Array& array() const { return array_; }
  // Elements, from this byte on. Requires offset + length <= the array's bytes.
  Result<Blob> read(uint64_t offset, size_t length);
  // The whole array. TooLarge where it has unpacked to more than its file allows.
  Result<Array> read_all() &&;

 private:
  ArrayFile() = default;

  Array array_;
  std::filesystem::path path_;
  // Where the elements are: in one of these, or in `array_` itself.
  std::unique_ptr<InputFile> file_;
  std::unique_ptr<zip::EntryStream> packed_;
  uint64_t begin_ = 0, bytes_ = 0;
  size_t limit_ = SIZE_MAX;  // of read_all()
};

}  // namespace ec::npy
