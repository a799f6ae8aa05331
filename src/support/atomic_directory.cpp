#include "support/atomic_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace ec {
namespace {

namespace fs = std::filesystem;

Error cannot(const std::string& what, const fs::path& path, const std::error_code& error) {
  return Error(Code::OutputUnwritable, "cannot " + what + ": " + error.message())
      .file(path.string())
      .hint("choose a writable folder with -o");
}

// A name beside the path that nothing has.
fs::path free_name(const fs::path& path) {
  std::error_code ignored;
  fs::path name;
  for (int i = 0; name.empty() || fs::exists(name, ignored); ++i)
    name = path.string() + "." + std::to_string(::getpid()) + "." + std::to_string(i);
  return name;
}

}  // namespace

Result<AtomicDirectory> AtomicDirectory::create(const fs::path& path) {
  AtomicDirectory directory;
  std::error_code error;
  // "out/model.mlpackage/" and "out/model.mlpackage" are the same directory.
  directory.path_ = path.has_filename() ? path : path.parent_path();
  if (fs::exists(directory.path_, error) && !fs::is_directory(directory.path_, error))
    return Error(Code::OutputUnwritable, "is a file where a directory is to be written")
        .file(path.string())
        .hint("choose another name with -o");
  return directory;
}

AtomicDirectory::AtomicDirectory(AtomicDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      files_(std::move(other.files_)) {}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status AtomicDirectory::write(const fs::path& relative, std::span<const Blob> parts) {
  // Beside the directory, where its name is free and the file system is the same.
  EC_TRY(AtomicFile file, AtomicFile::create(free_name(path_)));
  EC_CHECK_OK(file.write(parts));
  files_.push_back({relative, std::move(file)});
  return {};
}

Status AtomicDirectory::fill() {
  std::error_code error;
  const fs::path name = free_name(path_);
  if (!fs::create_directory(name, error)) return cannot("create the directory", path_, error);
  temporary_ = name;
  for (File& file : files_) {
    const fs::path target = temporary_ / file.relative;
    fs::create_directories(target.parent_path(), error);
    if (error) return cannot("create the directory", path_ / file.relative, error);
    EC_CHECK_OK(file.content.commit(target));
  }
  return {};
}

Status AtomicDirectory::commit() {
  EC_CHECK_OK(fill());
  std::error_code error, ignored;
  if (fs::exists(path_, ignored)) {
    // The two change places in one call; the destructor removes the old one.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0)
      return {};
    return replace_by_names();
  }
  fs::rename(temporary_, path_, error);
  if (error) return cannot("rename the directory into place", path_, error);
  temporary_.clear();
  return {};
}

// For file systems that cannot exchange two names.
Status AtomicDirectory::replace_by_names() {
  std::error_code error, ignored;
  const fs::path old = free_name(path_);
  fs::rename(path_, old, error);
  if (error) return cannot("replace the directory", path_, error);
  fs::rename(temporary_, path_, error);
  if (error) {
    fs::rename(old, path_, ignored);
    return cannot("rename the directory into place", path_, error);
  }
  temporary_.clear();
  fs::remove_all(old, ignored);
  return {};
}

}  // namespace ec
