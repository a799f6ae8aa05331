// Text of files that should be UTF-8 and may not be.
#pragma once

#include <string>
#include <string_view>

namespace ec {

bool is_valid_utf8(std::string_view text);
// The text with U+FFFD for every byte that belongs to no character; as it is where it is valid.
std::string valid_utf8(std::string text);

}  // namespace ec
