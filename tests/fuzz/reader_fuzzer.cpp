#include "fuzz/reader_fuzzer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "formats/zip/zip.h"
#include "frontend/torch/archive_builder.h"

namespace ec::fuzz {
namespace {

constexpr size_t kSlackBytes = size_t{64} << 20;
// Archives in the seeds have tens of records; more only cost time.
constexpr size_t kMaxRecords = 200;

int memory_fd() {
  static const int fd = ::memfd_create("fuzz", 0);
  if (fd < 0) std::abort();
  return fd;
}

}  // namespace

MemoryBound::~MemoryBound() {
  if (meter_.peak() <= 2 * file_size_ + kSlackBytes) return;
  std::fprintf(stderr, "an input of %zu bytes took %zu bytes of memory\n", file_size_,
               meter_.peak());
  std::abort();
}

MemoryFile::MemoryFile(std::span<const uint8_t> content) {
  const int fd = memory_fd();
  const auto size = static_cast<ssize_t>(content.size());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, content.data(), content.size(), 0) != size)
    std::abort();
}

const std::filesystem::path& MemoryFile::path() const {
  static const std::filesystem::path kPath = fmt::format("/proc/self/fd/{}", memory_fd());
  return kPath;
}

size_t mutate_archive(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto pick = [&](size_t count) { return static_cast<size_t>(random()) % count; };
  const Result<zip::Archive> archive = zip::Archive::open(blob_of(data, size));
  if (pick(8) == 0 || !archive.ok() || archive->entries().empty() ||
      archive->entries().size() > kMaxRecords)
    return LLVMFuzzerMutate(data, size, max_size);
  torch::testing::Records records;
  for (const zip::Entry& entry : archive->entries()) {
    const Result<Blob> content = archive->read(entry);
    if (!content.ok()) return LLVMFuzzerMutate(data, size, max_size);
    records.emplace_back(
        entry.name,
        text_of(reinterpret_cast<const uint8_t*>(content->bytes().data()), content->size()));
  }
  const size_t chosen = pick(records.size());
  switch (pick(16)) {
    case 0:
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(chosen));
      break;
    case 1:
      records.emplace_back(records[pick(records.size())].first, records[chosen].second);
      break;
    default: {
      std::string& content = records[chosen].second;
      const size_t length = content.size();
      content.resize(length + 4096);
      content.resize(
          LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(content.data()), length, content.size()));
      break;
    }
  }
  const std::string made = torch::testing::zip(records);
  if (made.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(made.begin(), made.end(), reinterpret_cast<char*>(data));
  return made.size();
}

}  // namespace ec::fuzz
