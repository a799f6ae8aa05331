// What texts take in memory once they are read, told before they are: a byte of JSON can become
// fifty, and a line of two bytes an object.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "support/result.h"

namespace ec {

// What reading a file of this size may take beside the file itself: its size once more and 40 MB.
// The program itself takes what is left of the 64 MB that SECURITY.md promises.
inline constexpr size_t reading_allowance(size_t file_size) {
  return file_size + (size_t{40} << 20);
}

// Whether a JSON library may read a text: TooLarge where its values would take more than a file of
// this size may, TooDeep where they nest deeper than anybody writes them (copies of values are made
// by recursion). Members with a name that is not among `kept` are left out of the sum; empty: all
// count.
Status check_json(std::string_view text, size_t file_size,
                  std::span<const std::string_view> kept = {});

// The lines of a text, one at a time.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  // False behind the last line. What stands behind the last end of line is a line.
  bool next(std::string_view& line) {
    if (done_) return false;
    const size_t end = rest_.find('\n');
    done_ = end == std::string_view::npos;
    line = rest_.substr(0, end);
    rest_ = done_ ? std::string_view() : rest_.substr(end + 1);
    ++number_;
    return true;
  }
  size_t number() const { return number_; }  // of the line that next() gave, from 1

 private:
  std::string_view rest_;
  size_t number_ = 0;
  bool done_ = false;
};

}  // namespace ec
