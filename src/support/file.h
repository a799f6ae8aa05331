// Files: read-only mapping, and output that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "support/blob.h"
#include "support/result.h"

namespace ec {

// Maps a regular file read-only. Errors: FileNotFound, FileUnreadable, EmptyFile.
Result<Blob> map_file(const std::filesystem::path& path);

// Writes to a temporary file in the same directory and renames on commit(). Without commit (error,
// exception, early return) the temporary is removed. A signal handler may call
// remove_pending_outputs(), which is async-signal-safe. Nothing waits for the disk, as with any
// compiler's output: a run can be repeated after a power cut.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // All parts in order, with few calls of the system.
  Status write(std::span<const std::span<const std::byte>> parts);
  Status write(std::span<const Blob> parts);
  Status commit();
  const std::filesystem::path& path() const { return path_; }

 private:
  AtomicFile() = default;
  void discard() noexcept;

  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  int slot_ = -1;
};

// Gives all files their names in order, or none of them: those that have theirs already are removed
// again when a later one fails.
Status commit_all(std::span<AtomicFile> files);

Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_file(const std::filesystem::path& path, std::string_view text);

void remove_pending_outputs() noexcept;

}  // namespace ec
