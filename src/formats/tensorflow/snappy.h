// Unpacking of Snappy's block format, which tables of checkpoints may be packed with.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace ec::tf {

// The unpacked bytes; at most `max` of them. Never reads or writes outside.
Result<std::string> unpack_snappy(std::string_view packed, size_t max);

}  // namespace ec::tf
