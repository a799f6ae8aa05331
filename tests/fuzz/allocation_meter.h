// Counts heap bytes while it lives, so that tests can hold readers to a memory bound. It measures
// under AddressSanitizer, whose allocator can be watched; elsewhere peak() stays 0.
#pragma once

#include <cstddef>

namespace ec::fuzz {

class AllocationMeter {
 public:
  AllocationMeter();  // starts from zero
  static bool available();
  size_t peak() const;  // most bytes held at one time since construction
};

}  // namespace ec::fuzz
