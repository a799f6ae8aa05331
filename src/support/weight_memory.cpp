#include "support/weight_memory.h"

#include <algorithm>

namespace ec {
namespace {

// Pieces for what was expected, and for what comes beyond it.
constexpr size_t kLargestPiece = size_t{32} << 20, kFurtherPiece = size_t{1} << 20;

}  // namespace

WeightMemory::Place WeightMemory::take(size_t size) {
  const size_t step = (size + Blob::kAlignment - 1) / Blob::kAlignment * Blob::kAlignment;
  if (size == 0 || step < size) return {};
  if (step > left_) {
    const size_t ahead = expected_ > 0 ? std::min(expected_, kLargestPiece) : kFurtherPiece;
    const size_t piece = std::max(step, ahead);
    Buffer buffer = Buffer::allocate(piece);
    if (!buffer.ok()) return {};
    next_ = buffer.data();
    left_ = piece;
    expected_ -= std::min(expected_, piece);
    piece_ = std::move(buffer).to_blob();
  }
  const auto offset = static_cast<size_t>(next_ - piece_.bytes().data());
  Place place{{next_, size}, piece_.slice(offset, size)};
  next_ += step;
  left_ -= step;
  return place;
}

}  // namespace ec
