// Base64 (RFC 4648) for constants inside the text form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec {

std::string base64_encode(std::span<const std::byte> bytes);
// Empty when the text is not valid base64.
std::optional<std::vector<std::byte>> base64_decode(std::string_view text);

}  // namespace ec
