#include "report/short_text.h"

#include "support/utf8.h"

namespace ec {

std::string short_text(std::string text) {
  constexpr size_t kMost = 256;
  if (text.size() <= kMost) return text;
  text.resize(kMost);
  // Another string: the one that was cut still has its room.
  return valid_utf8(std::string(text)) + "...";
}

}  // namespace ec
