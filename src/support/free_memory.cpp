#include "support/free_memory.h"

#include <cstdint>
#include <fstream>
#include <string>

namespace ec {
namespace {

// Smaller sizes are taken without asking how much memory is free.
constexpr size_t kAskForMemory = size_t{1} << 30;

// Bytes that programs may still take without swapping; the largest number where nobody tells.
size_t free_memory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  size_t kilobytes = 0;
  while (info >> word)
    if (word == "MemAvailable:" && info >> kilobytes) return kilobytes << 10;
  return SIZE_MAX;
}

}  // namespace

bool fits_free_memory(size_t bytes) { return bytes <= kAskForMemory || bytes <= free_memory(); }

}  // namespace ec
