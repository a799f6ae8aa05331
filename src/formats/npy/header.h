// The header of a .npy file (numpy.lib.format, versions 1 to 3).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/npy/npy.h"

namespace ec::npy {

inline constexpr std::string_view kMagic = "\x93NUMPY";
// Of the dictionary: NumPy's own are below a hundred bytes, and NumPy refuses 10,000.
inline constexpr size_t kMaxHeader = size_t{1} << 16;
// Bytes from the start of a file that hold its header.
inline constexpr size_t kHead = kMaxHeader + 12;

// The form of an array, and where its elements are in the file.
struct Layout {
  Array array;  // without elements
  uint64_t begin = 0, bytes = 0;
  bool columns_first = false;  // Fortran's order
  bool swapped = false;        // big endian
};

// `head` is the file, or its first kHead bytes. Elements outside the file are refused.
Result<Layout> parse_layout(std::span<const std::byte> head, uint64_t file_size);

}  // namespace ec::npy
