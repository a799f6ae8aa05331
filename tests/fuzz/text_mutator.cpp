#include "fuzz/text_mutator.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace ec::fuzz {

std::string TextMutator::mutate_code(const std::string& code, std::string& what) {
  std::vector<std::string> lines;
  std::istringstream stream(code);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.empty()) return code;
  for (size_t i = 0, count = 1 + pick(3); i < count; ++i) {
    std::string& line = lines[pick(lines.size())];
    switch (pick(6)) {
      case 0:
        what += "removed line; ";
        line.clear();
        break;
      case 1:
        what += "copied line; ";
        line = lines[pick(lines.size())];
        break;
      case 2: {
        what += "number; ";
        const size_t at = line.find_first_of("0123456789");
        static const char* const kNumbers[] = {
            "0",  "-1",   "9223372036854775807", "1e308", "3", "1000000", "nan", "None",
            "[]", "\"x\""};
        if (at != std::string::npos) {
          const size_t end = line.find_first_not_of("0123456789.", at);
          line.replace(at, std::min(end, line.size()) - at, kNumbers[pick(10)]);
        }
        break;
      }
      case 3: {
        what += "function; ";
        const size_t at = line.find("torch.");
        static const char* const kNames[] = {"add",   "append", "cat",   "reshape", "slice",
                                             "copy_", "size",   "index", "pop",     "conv2d"};
        if (at != std::string::npos) {
          const size_t end = line.find('(', at);
          if (end != std::string::npos) line.replace(at + 6, end - at - 6, kNames[pick(10)]);
        }
        break;
      }
      case 4:
        what += "indentation; ";
        line = (pick(2) == 0 ? "  " : "") + line.substr(std::min(line.size(), pick(3)));
        break;
      default:
        what += "byte; ";
        if (!line.empty()) line[pick(line.size())] = "()[],:=.x"[pick(9)];
        break;
    }
  }
  std::string made;
  for (const std::string& line : lines) made += line + "\n";
  return made;
}

void TextMutator::mutate_json(std::string& text, bool in_place, size_t begin, size_t end) {
  if (end <= begin) return;
  for (size_t i = 0, count = 1 + pick(3); i < count; ++i) {
    const size_t at = begin + pick(end - begin);
    const size_t digit = text.find_first_of("0123456789", at);
    if (pick(2) == 0 && digit != std::string::npos && digit < end) {
      static const char* const kNumbers[] = {
          "0", "-1", "9223372036854775807", "1e308", "99999", "null", "[]", "\"x\"", "2", "{}"};
      if (in_place)
        text[digit] = "0123456789"[pick(10)];
      else
        text.replace(digit, 1, kNumbers[pick(10)]);
    } else if (at < text.size()) {
      text[at] = "{}[]\",:0a-"[pick(10)];
    }
  }
}

}  // namespace ec::fuzz
