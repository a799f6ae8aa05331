#include "support/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "support/free_memory.h"
#include "support/units.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

// What is read with a byte that is asked for.
constexpr size_t kChunk = size_t{16} << 10;

Error unreadable(const fs::path& path, const std::string& what, int number, std::string hint) {
  return Error(Code::FileUnreadable, what + ": " + std::strerror(number))
      .file(path.string())
      .hint(std::move(hint));
}

Error cannot_open(const fs::path& path, int number) {
  if (number == ENOENT || number == ENOTDIR)
    return Error(Code::FileNotFound, "no such file")
        .file(path.string())
        .hint("check the path; relative paths start at the current directory");
  // What open() says to a socket.
  if (number == ENXIO)
    return Error(Code::FileUnreadable, "is a socket or a device, not a file")
        .file(path.string())
        .hint("name a regular file");
  return unreadable(path, "cannot open", number,
                    "check the permissions of the file and of the folders above it");
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory, not a file";
  if (S_ISFIFO(mode)) return "is a pipe, not a file";
  if (S_ISSOCK(mode)) return "is a socket, not a file";
  return "is a device, not a file";
}

}  // namespace

InputFile::Stamp InputFile::stamp_of(const struct ::stat& info) {
  return {info.st_dev, info.st_ino, static_cast<size_t>(info.st_size), info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec};
}

Result<InputFile> InputFile::open(const fs::path& path) {
  InputFile file;
  // The path is kept as an absolute one: the process may change its directory.
  std::error_code ignored;
  file.path_ = fs::absolute(path, ignored);
  // Without O_NONBLOCK, opening a pipe waits for somebody to write.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file.fd_ < 0) return cannot_open(path, errno);
  struct ::stat info {};
  if (::fstat(file.fd_, &info) != 0)
    return unreadable(path, "cannot stat", errno, "copy the file to a local disk");
  if (!S_ISREG(info.st_mode))
    return Error(Code::FileUnreadable, std::string(kind_of(info.st_mode)))
        .file(path.string())
        .hint("name a regular file; write what a pipe or a device gives to a file first");
  if (info.st_size == 0)
    return Error(Code::EmptyFile, "file is empty")
        .file(path.string())
        .hint("the download or export was probably interrupted: make the file again");
  file.stamp_ = stamp_of(info);
  file.links_ = info.st_nlink;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept { *this = std::move(other); }

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(links_, other.links_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Error InputFile::changed() const {
  return Error(Code::FileUnreadable, "the file was changed while it was read")
      .file(path_.string())
      .hint("wait until nobody writes to the file, then start again");
}

Status InputFile::read(size_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd_, out.data(), std::min(out.size(), size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path_, "cannot read", errno, "copy the file to a local disk");
    if (got == 0) return changed();  // it ends earlier than it said
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<size_t>(got);
  }
  struct ::stat info {};
  if (::fstat(fd_, &info) != 0 || stamp_of(info) != stamp_) return changed();
  return {};
}

Status InputFile::check_unchanged() const {
  struct ::stat open {
  }, named{};
  if (::fstat(fd_, &open) != 0 || stamp_of(open) != stamp_) return changed();
  if (::stat(path_.c_str(), &named) == 0 && stamp_of(named) != stamp_) return changed();
  return {};
}

Result<Blob> read_file(const InputFile& file) {
  const bool fits = fits_free_memory(file.size());
  Buffer buffer = fits ? Buffer::allocate(file.size()) : Buffer();
  if (!fits || !buffer.ok())
    return Error(Code::OutOfMemory, "the file has " +
                                        format_bytes(static_cast<int64_t>(file.size())) +
                                        ", more than the memory that is free")
        .file(file.path().string())
        .hint("use a machine with more memory, or split the file");
  EC_CHECK_OK(file.read(0, buffer.bytes()));
  return std::move(buffer).to_blob();
}

Result<Blob> read_file(const fs::path& path) {
  EC_TRY(const InputFile file, InputFile::open(path));
  return read_file(file);
}

FileImage::FileImage(InputFile file, std::shared_ptr<std::byte> memory)
    : file_(std::move(file)),
      memory_(std::move(memory)),
      read_((file_.size() + kChunk - 1) / kChunk, false) {}

Result<FileImage> FileImage::open(InputFile file) {
  const size_t size = file.size();
  // Pages that nobody asks for take no memory.
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return Error(Code::OutOfMemory,
                 "no memory for a file of " + format_bytes(static_cast<int64_t>(size)))
        .file(file.path().string())
        .hint("use a machine with more memory");
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(address),
                                    [size](std::byte* p) { ::munmap(p, size); });
  return FileImage(std::move(file), std::move(memory));
}

Result<Blob> FileImage::range(size_t offset, size_t length) {
  const size_t end = offset + length;
  for (size_t chunk = offset / kChunk; chunk * kChunk < end;) {
    if (read_[chunk]) {
      ++chunk;
      continue;
    }
    // Neighbours that are missing too come in the same call.
    size_t last = chunk;
    while (last < read_.size() && last * kChunk < end && !read_[last]) ++last;
    const size_t begin = chunk * kChunk, stop = std::min(last * kChunk, file_.size());
    EC_CHECK_OK(file_.read(begin, {memory_.get() + begin, stop - begin}));
    for (; chunk < last; ++chunk) read_[chunk] = true;
  }
  return Blob(memory_, {memory_.get() + offset, length});
}

}  // namespace ec
