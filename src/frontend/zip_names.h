// The names in a ZIP archive, without unpacking anything, to tell archives apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace ec {

inline constexpr std::string_view kZipStart = "PK\x03\x04";

// Read from the directory at the end of the archive.
class ZipNames {
 public:
  explicit ZipNames(std::string_view content) {
    constexpr std::string_view kEntry = "PK\x01\x02";  // central directory
    constexpr size_t kFixed = 46, kMaxNames = 20000;
    // The directory is at the end; scanning from the last megabyte finds it in real archives.
    size_t at = content.size() > (1u << 20) ? content.size() - (1u << 20) : 0;
    while ((at = content.find(kEntry, at)) != std::string_view::npos &&
           content.size() - at >= kFixed && names_.size() < kMaxNames) {
      const size_t length = static_cast<unsigned char>(content[at + 28]) |
                            static_cast<size_t>(static_cast<unsigned char>(content[at + 29])) << 8;
      names_.push_back(content.substr(at + kFixed, length));
      at += kFixed;
    }
  }
  bool any(std::string_view part) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return name.find(part) != std::string_view::npos;
    });
  }
  bool any_ends(std::string_view end) const {
    return std::any_of(names_.begin(), names_.end(),
                       [&](std::string_view name) { return name.ends_with(end); });
  }

 private:
  std::vector<std::string_view> names_;
};

inline std::string_view text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ec
