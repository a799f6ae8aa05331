#include "support/atomic_directory.h"

#include <unistd.h>

#include <utility>

#include "support/file.h"

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
  directory.temporary_ = free_name(directory.path_);
  if (!fs::create_directory(directory.temporary_, error))
    return cannot("create the directory", path, error);
  return directory;
}

AtomicDirectory::AtomicDirectory(AtomicDirectory&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status AtomicDirectory::write(const fs::path& relative, std::span<const Blob> parts) {
  const fs::path file = temporary_ / relative;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return cannot("create the directory", path_ / relative, error);
  EC_TRY(AtomicFile atomic, AtomicFile::create(file));
  EC_CHECK_OK(atomic.write(parts));
  return atomic.commit();
}

Status AtomicDirectory::commit() {
  std::error_code error, ignored;
  const fs::path old = free_name(path_);
  const bool replaces = fs::exists(path_, ignored);
  if (replaces) fs::rename(path_, old, error);
  if (error) return cannot("replace the directory", path_, error);
  fs::rename(temporary_, path_, error);
  if (error) {
    if (replaces) fs::rename(old, path_, ignored);
    return cannot("rename the directory into place", path_, error);
  }
  temporary_.clear();
  if (replaces) fs::remove_all(old, ignored);
  return {};
}

}  // namespace ec
