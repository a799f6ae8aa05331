#include "support/utf8.h"

#include <cstdint>

namespace ec {
namespace {

// Bytes of the character that begins here; 0: none does. RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  uint8_t low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return length;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string valid_utf8(std::string text) {
  if (is_valid_utf8(text)) return text;
  std::string valid;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = character_length(rest);
    if (length == 0)
      valid += "\xEF\xBF\xBD";
    else
      valid += rest.substr(0, length);
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace ec
