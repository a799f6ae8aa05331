#include "support/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace ec {
namespace {

namespace fs = std::filesystem;

Error system_error(Code code, const fs::path& path, const std::string& what, int number) {
  return Error(code, what + ": " + std::strerror(number)).file(path.string());
}

Error output_error(const fs::path& path, const std::string& what, int number) {
  Error error = system_error(Code::OutputUnwritable, path, what, number);
  if (number == ENOSPC)
    return std::move(error).hint("free some space or choose another folder with -o");
  if (number == ENOENT) return std::move(error).hint("create the directory first");
  return std::move(error).hint("choose a writable folder with -o");
}

// Paths of temporaries that exist right now, as fixed C strings so that a signal handler can unlink
// them. A slot's first byte is non-zero while it is in use.
constexpr int kSlots = 16;
constexpr size_t kPathMax = 4096;
struct PendingSlot {
  std::atomic<bool> claimed{false};
  std::atomic<bool> armed{false};
  char path[kPathMax];
};
PendingSlot g_pending[kSlots];

int claim_slot(const std::string& path) {
  if (path.size() >= kPathMax) return -1;
  for (int i = 0; i < kSlots; ++i) {
    if (g_pending[i].claimed.exchange(true)) continue;
    std::memcpy(g_pending[i].path, path.c_str(), path.size() + 1);
    g_pending[i].armed = true;
    return i;
  }
  return -1;
}

void release_slot(int slot) {
  if (slot < 0) return;
  g_pending[slot].armed = false;
  g_pending[slot].claimed = false;
}

// Unguessable, so that neither another process nor another thread has the same one.
std::string temporary_name(const fs::path& path) {
  static std::atomic<uint64_t> fallback{0};
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random = (static_cast<uint64_t>(::getpid()) << 32) + ++fallback;
  return fmt::format("{}.{:016x}", path.string(), random);
}

}  // namespace

Result<Blob> map_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR)
      return Error(Code::FileNotFound, "no such file")
          .file(path.string())
          .hint("check the path; relative paths start at the current directory");
    return system_error(Code::FileUnreadable, path, "cannot open", number)
        .hint("check the permissions of the file and of the folders above it");
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int number = errno;
    ::close(fd);
    return system_error(Code::FileUnreadable, path, "cannot stat", number)
        .hint("copy the file to a local disk");
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    const bool directory = S_ISDIR(info.st_mode);
    return Error(Code::FileUnreadable,
                 directory ? "is a directory, not a file" : "is not a regular file")
        .file(path.string())
        .hint("name a model file");
  }
  if (info.st_size == 0) {
    ::close(fd);
    return Error(Code::EmptyFile, "file is empty")
        .file(path.string())
        .hint("the download or export was probably interrupted: make the file again");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int number = errno;
  ::close(fd);
  if (address == MAP_FAILED)
    return system_error(Code::FileUnreadable, path, "cannot map", number)
        .hint("copy the file to a local disk");
  std::shared_ptr<const void> owner(
      address, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Blob(owner, {static_cast<const std::byte*>(address), size});
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return Error(Code::OutputUnwritable, "is a directory")
        .file(path.string())
        .hint("give a file name with -o");
  do {
    // The name is on record before the file exists: a signal may come between the two.
    file.temporary_ = temporary_name(path);
    file.slot_ = claim_slot(file.temporary_.string());
    file.fd_ = ::open(file.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int number = errno;
    if (file.fd_ >= 0) return file;
    release_slot(std::exchange(file.slot_, -1));
    errno = number;
  } while (errno == EEXIST);
  return output_error(path, "cannot create", errno);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
  release_slot(slot_);
  fd_ = slot_ = -1;
}

namespace {

// Maps the pages of a large part at once. Writing from a mapped file would else take a fault for
// every few pages, which costs as much as the copy.
void populate(std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (bytes.size() < 16 * page) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t skipped = address % page;
  (void)::madvise(const_cast<std::byte*>(bytes.data()) - skipped, bytes.size() + skipped,
                  MADV_POPULATE_READ);
#else
  (void)bytes;
#endif
}

// What a call of writev took is gone from the front.
void drop_written(std::span<iovec>& vectors, size_t written) {
  while (!vectors.empty() && written >= vectors.front().iov_len) {
    written -= vectors.front().iov_len;
    vectors = vectors.subspan(1);
  }
  if (written == 0) return;
  vectors.front().iov_base = static_cast<std::byte*>(vectors.front().iov_base) + written;
  vectors.front().iov_len -= written;
}

}  // namespace

Status AtomicFile::write(std::span<const std::span<const std::byte>> parts) {
  constexpr size_t kBatch = 512;  // below what any system takes at once
  std::array<iovec, kBatch> batch;
  while (!parts.empty()) {
    const size_t count = std::min(parts.size(), kBatch);
    for (size_t i = 0; i < count; ++i) {
      populate(parts[i]);
      batch[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    }
    parts = parts.subspan(count);
    std::span<iovec> left(batch.data(), count);
    drop_written(left, 0);  // leading empty parts
    while (!left.empty()) {
      const ssize_t written = ::writev(fd_, left.data(), static_cast<int>(left.size()));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return output_error(path_, "cannot write", errno);
      drop_written(left, static_cast<size_t>(written));
    }
  }
  return {};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  const std::span<const std::byte> parts[] = {bytes};
  return write(parts);
}

Status AtomicFile::write(std::span<const Blob> parts) {
  std::vector<std::span<const std::byte>> spans;
  spans.reserve(parts.size());
  for (const Blob& part : parts) spans.push_back(part.bytes());
  return write(spans);
}

Status AtomicFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status AtomicFile::commit() {
  if (::close(std::exchange(fd_, -1)) != 0) {
    const int number = errno;
    ::unlink(temporary_.c_str());
    release_slot(std::exchange(slot_, -1));
    return output_error(path_, "cannot write", number);
  }
  const bool renamed = ::rename(temporary_.c_str(), path_.c_str()) == 0;
  const int number = errno;
  if (!renamed) ::unlink(temporary_.c_str());
  release_slot(std::exchange(slot_, -1));
  if (!renamed) return output_error(path_, "cannot rename into place", number);
  return {};
}

Status commit_all(std::span<AtomicFile> files) {
  for (size_t i = 0; i < files.size(); ++i) {
    Status status = files[i].commit();
    if (status.ok()) continue;
    std::error_code ignored;
    for (size_t done = 0; done < i; ++done) fs::remove(files[done].path(), ignored);
    return status;
  }
  return {};
}

Status write_file(const fs::path& path, std::span<const std::byte> bytes) {
  EC_TRY(AtomicFile file, AtomicFile::create(path));
  EC_CHECK_OK(file.write(bytes));
  return file.commit();
}

Status write_file(const fs::path& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

void remove_pending_outputs() noexcept {
  for (PendingSlot& slot : g_pending)
    if (slot.armed.load()) ::unlink(slot.path);
}

}  // namespace ec
