// SHA-256 (FIPS 180-4), for naming content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec {

// The hash of bytes that come in several parts.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  std::string hex() &&;  // 64 hexadecimal digits

 private:
  std::array<uint32_t, 8> state_;
  uint64_t length_ = 0;
  std::vector<uint8_t> rest_;  // less than a block
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace ec
