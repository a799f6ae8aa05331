// A directory that appears whole or not at all, for outputs that are several files in one folder.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "support/blob.h"
#include "support/file.h"
#include "support/result.h"

namespace ec {

// The files have no names until commit(), which puts them into a temporary directory beside `path`
// and renames that. A directory of that name is replaced; a file is not. Without commit nothing is
// left behind.
class AtomicDirectory {
 public:
  static Result<AtomicDirectory> create(const std::filesystem::path& path);
  AtomicDirectory(AtomicDirectory&& other) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&&) = delete;
  ~AtomicDirectory();

  // `relative` names a file inside; folders on the way are made by commit().
  Status write(const std::filesystem::path& relative, std::span<const Blob> parts);
  Status commit();

 private:
  struct File {
    std::filesystem::path relative;
    AtomicFile content;
  };
  AtomicDirectory() = default;
  Status fill();
  Status replace_by_names();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: there is none
  std::vector<File> files_;
};

}  // namespace ec
