// Files that users hand us. Regular files alone: opening never waits for a pipe or a device.
// Nothing is mapped: bytes that were checked cannot change afterwards, and a file that shrinks is
// an error and not a signal.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "support/blob.h"
#include "support/result.h"

struct stat;

namespace ec {

// A file that stays open while parts of it are read. A file that is changed, cut or replaced in the
// meantime is FileUnreadable.
class InputFile {
 public:
  // Errors: FileNotFound, FileUnreadable (not a regular file), EmptyFile.
  static Result<InputFile> open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return stamp_.size; }
  size_t links() const { return links_; }  // hard links, this name included
  // Fills `out`. Requires offset + out.size() <= size().
  Status read(size_t offset, std::span<std::byte> out) const;
  // Whether the content is what it was when the file was opened, and the path still names it. A
  // file that was removed is as it was.
  Status check_unchanged() const;

 private:
  // What changes with the content.
  struct Stamp {
    uint64_t device = 0, inode = 0;
    size_t size = 0;
    int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const struct ::stat& info);
  InputFile() = default;
  Error changed() const;

  std::filesystem::path path_;
  int fd_ = -1;
  size_t links_ = 1;
  Stamp stamp_;
};

// The content of a file, read at once. Errors as InputFile::open, and OutOfMemory for a file that
// is larger than the memory that is free.
Result<Blob> read_file(const std::filesystem::path& path);
Result<Blob> read_file(const InputFile& file);

// A file in memory whose parts are read when they are first asked for; each byte is read and held
// once, however many ranges overlap.
class FileImage {
 public:
  static Result<FileImage> open(InputFile file);

  const InputFile& file() const { return file_; }
  // A view. Requires offset + length <= file().size().
  Result<Blob> range(size_t offset, size_t length);

 private:
  FileImage(InputFile file, std::shared_ptr<std::byte> memory);

  InputFile file_;
  std::shared_ptr<std::byte> memory_;
  std::vector<bool> read_;  // by chunk
};

}  // namespace ec
