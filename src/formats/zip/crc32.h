// CRC-32 as ZIP and PNG have it (ISO 3309, bits in reverse). Large entries are weights, and their
// checksum takes longer than reading them unless the processor multiplies polynomials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ec::zip {

// The checksum of bytes that follow those with the checksum `before`; 0 for none.
uint32_t crc32(uint32_t before, std::span<const std::byte> bytes);

}  // namespace ec::zip
