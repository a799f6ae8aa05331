// Shapes and permutations as passes need them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/rewriter.h"

namespace ec {

// Operand and attributes of a reshape.
struct ReshapeTarget {
  std::vector<int64_t> sizes;  // 0: copied from the input, -1: what remains
  bool allow_zero = false;
};
// A constant target that turns `from` (when known) into `to`, or nothing when more than one open
// size of `to` would have to be computed.
std::optional<ReshapeTarget> reshape_target(const std::optional<Shape>& from, const Shape& to);
// Adds the reshape of x to `to`; null when no constant target expresses it.
Result<Tensor*> add_reshape(Rewriter& rewriter, Tensor* x, const Shape& to,
                            std::initializer_list<const Operation*> from);

// reshape, flatten, squeeze, unsqueeze: same elements in the same order.
bool is_view(const Operation* op);
// The operand of a view that keeps the last `count` dimensions; null where `tensor` is none.
Tensor* source_keeping_last(const Tensor* tensor, size_t count);

// --- permutations: dimension i of the result is dimension perm[i] of the operand ----------------
using Perm = std::vector<int64_t>;

Perm identity_perm(size_t rank);
bool is_identity(const Perm& perm);
Perm inverse(const Perm& perm);
// Transposing by `first` and then by `second`.
Perm compose(const Perm& first, const Perm& second);
Shape permuted(const Shape& shape, const Perm& perm);
// The permutation of a transpose operation; the rank must be known when it states none.
std::optional<Perm> perm_of(const Operation* op);
// True when only dimensions of size 1 move past others: the elements keep their order.
bool keeps_order(const Shape& shape, const Perm& perm);

// A view of a transpose's result as a view of its operand and a transpose behind that.
struct ViewThenTranspose {
  Shape view;
  Perm perm;
};
// Nothing unless the view only splits dimensions, or merges ones that are neighbours in the operand
// too.
std::optional<ViewThenTranspose> view_before_transpose(const Operation* transpose,
                                                       const Tensor* result);

// [N, C, spatial...] to [N, spatial..., C] and back.
Perm to_channels_last(size_t rank);
Perm to_channels_first(size_t rank);

// --- slices -------------------------------------------------------------------------------------
struct AxisRange {
  int64_t axis = 0, start = 0, end = 0, step = 1;  // 0 <= start <= end <= size; step > 0
  int64_t count() const { return (end - start + step - 1) / step; }
};
// The ranges of a slice with constant starts and ends along axes of known sizes, with positive
// steps. Axes that are taken whole are left out.
std::optional<std::vector<AxisRange>> slice_ranges(const Operation* op);
Result<Tensor*> add_slice(Rewriter& rewriter, Tensor* x, std::span<const AxisRange> ranges,
                          std::initializer_list<const Operation*> from);

}  // namespace ec
