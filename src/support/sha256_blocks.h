// Whole blocks of SHA-256, in portable code and by the instructions that processors have for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ec::sha256 {

using State = std::array<uint32_t, 8>;
inline constexpr size_t kBlock = 64;
extern const std::array<uint32_t, 64> kRound;

void add_blocks(State& state, const uint8_t* data, size_t count);

void add_blocks_portable(State& state, const uint8_t* data, size_t count);
// False, and nothing done, where the processor has none.
bool add_blocks_by_instructions(State& state, const uint8_t* data, size_t count);
bool add_blocks_by_vectors(State& state, const uint8_t* data, size_t count);

}  // namespace ec::sha256
