// A directory that appears whole or not at all, for outputs that are several files in one folder.
#pragma once

#include <filesystem>
#include <span>

#include "support/blob.h"
#include "support/result.h"

namespace ec {

// Files are written to a temporary directory beside `path`, which commit() renames. A directory of
// that name is replaced; a file is not. Without commit the temporary one is removed.
class AtomicDirectory {
 public:
  static Result<AtomicDirectory> create(const std::filesystem::path& path);
  AtomicDirectory(AtomicDirectory&& other) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&&) = delete;
  ~AtomicDirectory();

  // `relative` names a file inside; folders on the way are made.
  Status write(const std::filesystem::path& relative, std::span<const Blob> parts);
  Status commit();

 private:
  AtomicDirectory() = default;

  std::filesystem::path path_, temporary_;
};

}  // namespace ec
