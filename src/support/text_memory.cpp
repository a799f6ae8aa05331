#include "support/text_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace ec {
namespace {

// Bytes of nlohmann's values with what the allocator adds: a value of a list (16, and half as much
// while the list grows), a member with its name, a list, an object, a text without its characters.
constexpr size_t kElement = 24, kMember = 96, kList = 64, kObject = 80, kText = 64;

// Exported programs nest about twenty levels.
constexpr size_t kMaxDepth = 200;

struct Estimate {
  size_t bytes = 0, depth = 0;
};

Estimate estimate(std::string_view text, std::span<const std::string_view> kept) {
  Estimate result;
  size_t depth = 0;
  constexpr size_t kNone = SIZE_MAX;
  size_t left_out = kNone;  // depth of the object whose member is passed over
  const auto count = [&](size_t bytes) {
    if (left_out == kNone) result.bytes += bytes;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"': {
        const size_t begin = i + 1;
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        const std::string_view content = text.substr(begin, std::min(i, text.size()) - begin);
        const size_t behind = text.find_first_not_of(" \t\r\n", i + 1);
        const bool is_name = behind != text.npos && text[behind] == ':';
        if (is_name && left_out == kNone && !kept.empty() &&
            std::find(kept.begin(), kept.end(), content) == kept.end())
          left_out = depth;
        count((is_name ? kMember : kText) + content.size());
        break;
      }
      case '[':
      case '{':
        count(text[i] == '[' ? kList : kObject);
        result.depth = std::max(result.depth, ++depth);
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1 : 0;
        if (left_out != kNone && depth < left_out) left_out = kNone;
        break;
      case ',':
        if (left_out == depth) left_out = kNone;
        count(kElement);
        break;
      default:
        break;
    }
  }
  return result;
}

}  // namespace

Status check_json(std::string_view text, size_t file_size, std::span<const std::string_view> kept) {
  constexpr const char* kHint = "the file is damaged or hostile: make it again";
  const Estimate needed = estimate(text, kept);
  if (needed.depth > kMaxDepth)
    return Error(Code::TooDeep, fmt::format("the JSON text nests {} levels, the limit is {}",
                                            needed.depth, kMaxDepth))
        .hint(kHint);
  if (needed.bytes > reading_allowance(file_size))
    return Error(Code::TooLarge, fmt::format("the values of the JSON text would take {} MB, far "
                                             "more than the file",
                                             needed.bytes >> 20))
        .hint(kHint);
  return {};
}

}  // namespace ec
