// Operations on permuted operands: for an operation f and a permutation p, the operation g with
// transpose(f(x), p) = g(transpose(x, p)). Both the transpose pass and the layout pass move
// transposes with it. Which operations have such a g is in the op table (OpDef::layout).
#pragma once

#include "passes/shapes.h"

namespace ec {

// Whether an operand or a result is permuted along.
enum class PermuteRole : uint8_t {
  Data,      // has the permuted dimensions
  Constant,  // parameters that add_permuted() rewrites itself
  Plain,     // as it is: scalars, thresholds, sizes along an axis, results without the dimensions
};

struct PermuteRoles {
  std::vector<PermuteRole> inputs, outputs;
};

// The roles when the operation has a permuted form for `perm`; nothing when it has none. Operands
// that are broadcast from fewer dimensions count as Constant (rewritten, by operations if need be).
std::optional<PermuteRoles> permute_roles(const Operation* op, const Perm& perm);

// Adds the permuted form. `inputs` are the operands with those of role Data already permuted.
Result<Operation*> add_permuted(Rewriter& rewriter, const Operation* op,
                                std::vector<Tensor*> inputs, const Perm& perm);

// x transposed by perm: computed now when constant or dequantised from a constant, a reshape when
// only dimensions of size 1 move.
Result<Tensor*> add_transposed(Rewriter& rewriter, Tensor* x, const Perm& perm,
                               std::initializer_list<const Operation*> from);
// An operand of lower rank with leading dimensions of size 1.
Result<Tensor*> add_leading_ones(Rewriter& rewriter, Tensor* x, size_t rank,
                                 std::initializer_list<const Operation*> from);

}  // namespace ec
