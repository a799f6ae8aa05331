// Where things lie in a weight file (MIL blob storage, version 2), shared by reader and writer. All
// numbers are little endian; metadata and data begin at multiples of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/coreml/model.h"

namespace ec::coreml::weight_layout {

// The file's header: number of blobs, version.
inline constexpr size_t kHeaderBytes = 64;
inline constexpr uint32_t kVersion = 2;
// Metadata in front of each blob.
inline constexpr size_t kMetadataBytes = 64, kAlignment = 64;
inline constexpr uint32_t kSentinel = 0xDEADBEEF;
inline constexpr size_t kSentinelAt = 0, kTypeAt = 4, kSizeAt = 8, kOffsetAt = 16,
                        kPaddingBitsAt = 24;

// The number of an element type in metadata; 0: cannot be stored.
inline constexpr uint32_t code_of(DataType type) {
  constexpr DataType kCodes[] = {DataType::Unused, DataType::Float16,      DataType::Float32,
                                 DataType::UInt8,  DataType::Int8,         DataType::BFloat16,
                                 DataType::Int16,  DataType::UInt16,       DataType::Int4,
                                 DataType::UInt1,  DataType::UInt2,        DataType::UInt4,
                                 DataType::UInt3,  DataType::UInt6,        DataType::Int32,
                                 DataType::UInt32, DataType::Float8E4M3FN, DataType::Float8E5M2};
  for (uint32_t code = 1; code < sizeof kCodes / sizeof kCodes[0]; ++code)
    if (kCodes[code] == type) return code;
  return 0;
}

}  // namespace ec::coreml::weight_layout
