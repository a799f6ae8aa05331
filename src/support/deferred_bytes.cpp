#include "support/deferred_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace ec {
namespace {

// Addresses are taken in pieces of this size: a mapping for each weight would be too many.
constexpr size_t kPiece = size_t{64} << 20;

struct Entry {
  Entry(std::shared_ptr<std::byte> memory, std::span<std::byte> place,
        std::shared_ptr<const ByteSource> from)
      : piece(std::move(memory)), bytes(place), source(std::move(from)) {}

  std::shared_ptr<std::byte> piece;  // keeps the addresses
  std::span<std::byte> bytes;
  std::mutex mutex;
  std::shared_ptr<const ByteSource> source;  // null: read
};

// All deferred blobs of the process by their addresses: a blob knows nothing of where its bytes
// come from.
class Registry {
 public:
  std::shared_ptr<Entry> add(size_t size, std::shared_ptr<const ByteSource> source) {
    const std::lock_guard lock(mutex_);
    const size_t step = (size + Blob::kAlignment - 1) / Blob::kAlignment * Blob::kAlignment;
    std::shared_ptr<std::byte> piece = piece_.lock();
    if (step < size) return nullptr;
    if (piece == nullptr || step > left_) {
      piece = take_addresses(std::max(step, kPiece));
      if (piece == nullptr) return nullptr;
      piece_ = piece;
      next_ = piece.get();
      left_ = std::max(step, kPiece);
    }
    std::shared_ptr<Entry> entry(new Entry(std::move(piece), {next_, size}, std::move(source)),
                                 [this](Entry* gone) { remove(gone); });
    next_ += step;
    left_ -= step;
    entries_.emplace(entry->bytes.data(), entry.get());
    ++count_;
    return entry;
  }

  // The entry that holds the bytes. It lives as long as the blob that was asked for.
  Entry* find(std::span<const std::byte> bytes) {
    if (bytes.empty() || count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    auto after = entries_.upper_bound(bytes.data());
    if (after == entries_.begin()) return nullptr;
    Entry* entry = std::prev(after)->second;
    return std::less<>()(bytes.data(), entry->bytes.data() + entry->bytes.size()) ? entry : nullptr;
  }

 private:
  static std::shared_ptr<std::byte> take_addresses(size_t size) {
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    return {static_cast<std::byte*>(address), [size](std::byte* p) { ::munmap(p, size); }};
  }

  void remove(Entry* entry) {
    {
      const std::lock_guard lock(mutex_);
      entries_.erase(entry->bytes.data());
      --count_;
    }
    delete entry;
  }

  std::mutex mutex_;
  std::map<const std::byte*, Entry*, std::less<>> entries_;
  std::atomic<size_t> count_ = 0;
  std::weak_ptr<std::byte> piece_;
  std::byte* next_ = nullptr;  // in the piece
  size_t left_ = 0;            // of the piece
};

// Never destroyed: blobs in static storage may outlive it.
Registry& registry() {
  static auto& all = *new Registry;
  return all;
}

}  // namespace

Blob deferred_blob(size_t size, std::shared_ptr<const ByteSource> source) {
  if (size == 0) return {};
  std::shared_ptr<Entry> entry = registry().add(size, std::move(source));
  if (entry == nullptr) return {};
  const std::span<const std::byte> bytes = entry->bytes;
  return {std::move(entry), bytes};
}

std::shared_ptr<const ByteSource> unread_source(const Blob& blob) {
  Entry* entry = registry().find(blob.bytes());
  if (entry == nullptr || entry->bytes.data() != blob.bytes().data() ||
      entry->bytes.size() != blob.size())
    return nullptr;
  const std::lock_guard lock(entry->mutex);
  return entry->source;
}

Status read_deferred(const Blob& blob) {
  Entry* entry = registry().find(blob.bytes());
  if (entry == nullptr) return {};
  const std::lock_guard lock(entry->mutex);
  if (entry->source == nullptr) return {};
  EC_CHECK_OK(entry->source->read(0, entry->bytes));
  entry->source.reset();
  return {};
}

}  // namespace ec
