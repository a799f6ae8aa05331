// Rewrites of operations into formulas of simpler ones that hold in any order of dimensions, for
// other back ends to legalise with: activations, functions, norms, attention, einsum, sampled
// grids, recurrent layers step by step, Fourier transforms, scatters, pads, resizes.
#pragma once

#include "passes/rewriter.h"

namespace ec::passes {

// Applies the first formula of the operation's kind that fits it; false where none does. Some
// operations have forms of TFLite among their formulas: callers ask for the kinds that they lack.
Result<bool> apply_formula(Rewriter& rewriter, Operation* op);

// An activation or a residual that is part of a weighted sum as operations behind it; false where
// there is none.
Result<bool> split_fused(Rewriter& rewriter, Operation* op);

// Operations on floats of other widths become operations on f32; inputs and outputs keep their
// types.
Status compute_in_single_precision(Rewriter& rewriter);

}  // namespace ec::passes
