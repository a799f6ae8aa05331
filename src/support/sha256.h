// SHA-256 (FIPS 180-4), for naming content.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ec {

// 64 hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace ec
