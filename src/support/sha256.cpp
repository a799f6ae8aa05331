#include "support/sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/sha256_blocks.h"

namespace ec {
namespace sha256 {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

namespace {

inline void add_round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f,
                      uint32_t g, uint32_t& h, uint32_t word) {
  const uint32_t t1 =
      h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + word;
  d += t1;
  h = t1 + (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
}

void add_block(State& state, const uint8_t* block) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  // Letters change their places from round to round: eight of them bring each back, and no value
  // moves.
  for (size_t i = 0; i < 64; i += 8) {
    add_round(a, b, c, d, e, f, g, h, kRound[i] + w[i]);
    add_round(h, a, b, c, d, e, f, g, kRound[i + 1] + w[i + 1]);
    add_round(g, h, a, b, c, d, e, f, kRound[i + 2] + w[i + 2]);
    add_round(f, g, h, a, b, c, d, e, kRound[i + 3] + w[i + 3]);
    add_round(e, f, g, h, a, b, c, d, kRound[i + 4] + w[i + 4]);
    add_round(d, e, f, g, h, a, b, c, kRound[i + 5] + w[i + 5]);
    add_round(c, d, e, f, g, h, a, b, kRound[i + 6] + w[i + 6]);
    add_round(b, c, d, e, f, g, h, a, kRound[i + 7] + w[i + 7]);
  }
  const State sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += sum[i];
}

}  // namespace

void add_blocks_portable(State& state, const uint8_t* data, size_t count) {
  for (size_t i = 0; i < count; ++i) add_block(state, data + i * kBlock);
}

void add_blocks(State& state, const uint8_t* data, size_t count) {
  if (!add_blocks_by_instructions(state, data, count) && !add_blocks_by_vectors(state, data, count))
    add_blocks_portable(state, data, count);
}

}  // namespace sha256

using sha256::kBlock;

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::add(std::span<const std::byte> bytes) {
  length_ += bytes.size();
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t done = 0;
  if (!rest_.empty()) {
    done = std::min(kBlock - rest_.size(), bytes.size());
    rest_.insert(rest_.end(), data, data + done);
    if (rest_.size() < kBlock) return;
    sha256::add_blocks(state_, rest_.data(), 1);
    rest_.clear();
  }
  const size_t blocks = (bytes.size() - done) / kBlock;
  sha256::add_blocks(state_, data + done, blocks);
  done += blocks * kBlock;
  rest_.insert(rest_.end(), data + done, data + bytes.size());
}

std::string Sha256::hex() && {
  // The rest, a one bit, zeros, and the length in bits at the end of a block.
  rest_.push_back(0x80);
  while (rest_.size() % kBlock != kBlock - 8) rest_.push_back(0);
  const uint64_t bits = length_ * 8;
  for (int shift = 56; shift >= 0; shift -= 8) rest_.push_back(static_cast<uint8_t>(bits >> shift));
  sha256::add_blocks(state_, rest_.data(), rest_.size() / kBlock);
  std::string text;
  for (const uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return std::move(hash).hex();
}

std::string sha256_hex(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

}  // namespace ec
