// Rewriting ends by its number of rewrites, whatever its rules do: rules that undo each other, or
// that find their own result again, would else go on for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ec {

// How many rewrites a pass may make in a graph of this many operations. Real rules rewrite an
// operation a few times; what is unrolled is replaced once, by many.
inline constexpr int64_t most_rewrites(size_t operations) {
  return 1000 + 64 * static_cast<int64_t>(operations);
}

// The counter of a pass that was ended by that number: the graph is valid, the pass not done. The
// manager warns (EC5004) with the pass's name; the tests of passes fail on it.
inline constexpr std::string_view kUnsettled = "rewrites left undone";

}  // namespace ec
