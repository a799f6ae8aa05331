// Memory that decoded structs may take. A field of two bytes can stand for a struct of a hundred,
// so a hostile file must not decide.
#pragma once

#include <cstddef>

#include "support/result.h"

namespace ec::wire {

class Budget {
 public:
  explicit Budget(size_t bytes) : left_(bytes) {}
  // Room for structs next to a file of this size.
  static Budget for_file(size_t file_size) { return Budget(file_size + (size_t{32} << 20)); }
  Status charge(size_t count, size_t bytes_each) {
    if (count > left_ / bytes_each)
      return Error(Code::TooLarge,
                   "the file lists more elements than a model of its size can honestly have")
          .hint("the file is damaged or was made to exhaust memory");
    left_ -= count * bytes_each;
    return {};
  }

 private:
  size_t left_;
};

}  // namespace ec::wire
