// The table format of LevelDB, as far as a checkpoint's index needs it: all entries in order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ec::tf {

// Keys and values of a table. Checksums of blocks are compared. Memory is bounded by a multiple of
// the file's size.
Result<std::map<std::string, std::string>> read_table(std::string_view file);

// The CRC-32C of bytes as LevelDB and TensorFlow store it, so that sums of sums differ.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace ec::tf
