// Counts heap bytes while it lives, so that tests can hold readers to a memory bound: by the hooks
// of AddressSanitizer where the program is built with it, else by functions around the C library's.
#pragma once

#include <cstddef>

namespace ec::fuzz {

class AllocationMeter {
 public:
  AllocationMeter();    // starts from zero
  size_t peak() const;  // most bytes held at one time since construction
};

}  // namespace ec::fuzz
