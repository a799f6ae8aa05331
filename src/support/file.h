// Output files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "support/blob.h"
#include "support/result.h"

namespace ec {

struct Placing;
class AtomicFile;
Status commit_all(std::span<AtomicFile> files);

// A file without a name until commit(). Without commit (error, exception, early return, kill) there
// is nothing to remove. Where the system has no unnamed files the file has a temporary name in the
// same directory; remove_pending_outputs(), which a signal handler may call, removes it. Nothing
// waits for the disk, as with any compiler's output: a run can be repeated after a power cut.
class AtomicFile {
 public:
  enum class Until : uint8_t {
    Unnamed,
    Named,  // a temporary name, as where the system has no unnamed files
  };
  static Result<AtomicFile> create(const std::filesystem::path& path,
                                   Until commit = Until::Unnamed);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // All parts in order, with few calls of the system.
  Status write(std::span<const std::span<const std::byte>> parts);
  Status write(std::span<const Blob> parts);
  Status commit();
  // Under another name, on the same file system: in a folder that did not exist before.
  Status commit(const std::filesystem::path& as);
  const std::filesystem::path& path() const { return path_; }

 private:
  friend Status commit_all(std::span<AtomicFile> files);
  AtomicFile() = default;
  bool open_unnamed();
  Status open_named();
  Result<Placing> place();
  void take_temporary_name();
  void drop_temporary_name(bool remove) noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: the file has no name
  int fd_ = -1;
  int slot_ = -1;  // of the temporary name
};

// Gives all files their names in order, or none of them: those that have theirs already are removed
// again when a later one fails. A kill leaves all or none.
Status commit_all(std::span<AtomicFile> files);

Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_file(const std::filesystem::path& path, std::string_view text);

void remove_pending_outputs() noexcept;

}  // namespace ec
