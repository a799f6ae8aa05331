#include "support/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "support/put_in_place.h"

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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// How linkat() reaches a file without a name.
std::string link_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

Result<AtomicFile> AtomicFile::create(const fs::path& path, Until commit) {
  AtomicFile file;
  file.path_ = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return Error(Code::OutputUnwritable,
                 S_ISDIR(info.st_mode) ? "is a directory" : "is a pipe or a device, not a file")
        .file(path.string())
        .hint("give a file name with -o");
  if (commit == Until::Named || !file.open_unnamed()) EC_CHECK_OK(file.open_named());
  return file;
}

// False: try a name. Other failures show there again.
bool AtomicFile::open_unnamed() {
#ifdef O_TMPFILE
  static const bool has_links = ::access("/proc/self/fd", X_OK) == 0;
  if (!has_links) return false;
  fd_ = ::open(folder_of(path_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
#endif
  return fd_ >= 0;
}

// The name is on record before the file exists: a signal may come between the two.
void AtomicFile::take_temporary_name() {
  temporary_ = temporary_name(path_);
  slot_ = claim_slot(temporary_.string());
}

void AtomicFile::drop_temporary_name(bool remove) noexcept {
  if (remove && !temporary_.empty()) ::unlink(temporary_.c_str());
  release_slot(std::exchange(slot_, -1));
  temporary_.clear();
}

Status AtomicFile::open_named() {
  do {
    take_temporary_name();
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) return {};
    const int number = errno;
    drop_temporary_name(false);
    errno = number;
  } while (errno == EEXIST);
  return output_error(path_, "cannot create", errno);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  drop_temporary_name(true);
}

namespace {

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
    for (size_t i = 0; i < count; ++i)
      batch[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
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

Status AtomicFile::commit() { return commit_all(std::span(this, 1)); }

Status AtomicFile::commit(const fs::path& as) {
  path_ = as;
  return commit();
}

// What the calls that give names need to know.
Result<Placing> AtomicFile::place() {
  const bool unnamed = temporary_.empty();
  if (unnamed) {
    take_temporary_name();
    return Placing{link_of(fd_), temporary_.string(), path_.string()};
  }
  // File systems of the network tell only now that a write failed.
  if (::close(std::exchange(fd_, -1)) != 0) return output_error(path_, "cannot write", errno);
  return Placing{{}, temporary_.string(), path_.string()};
}

Status commit_all(std::span<AtomicFile> files) {
  std::vector<Placing> places;
  for (AtomicFile& file : files) {
    EC_TRY(Placing place, file.place());
    places.push_back(std::move(place));
  }
  const PlacingResult result = put_in_place(places);
  for (size_t i = 0; i < result.placed; ++i) {
    files[i].drop_temporary_name(false);
    if (files[i].fd_ >= 0) ::close(std::exchange(files[i].fd_, -1));
  }
  if (result.error == 0) return {};
  std::error_code ignored;
  for (size_t i = 0; i < result.placed; ++i) fs::remove(files[i].path(), ignored);
  return output_error(files[result.placed].path(), "cannot give the file its name", result.error);
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
