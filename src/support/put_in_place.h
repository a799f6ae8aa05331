// Gives finished files their names, in a way that `kill -9` cannot cut in two.
#pragma once

#include <span>
#include <string>

namespace ec {

struct Placing {
  std::string content;    // the file under /proc/self/fd; empty: it has the temporary name already
  std::string temporary;  // a name that nothing has, in the folder of `path`
  std::string path;
};

struct PlacingResult {
  size_t placed = 0;  // files that have their names
  int error = 0;      // of the next one: errno
};

// In order; stops at the first failure, whose temporary name is removed. A name that exists is
// replaced in one step.
PlacingResult put_in_place(std::span<const Placing> files);

}  // namespace ec
