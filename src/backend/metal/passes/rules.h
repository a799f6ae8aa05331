// The rules that bring a graph into the form ML Programs have, by family. legalise.cpp makes a pass
// of them.
#pragma once

#include <span>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace ec::passes {

extern const std::span<const RewriteRule> kMilFormulas, kMilActivations, kMilArithmetic, kMilLinear,
    kMilNorms, kMilMovement, kMilOpenAttention, kMilOpenSizes, kMilRanks, kMilSequences,
    kMilWindows;
// Attention as one operation, or as products: one of the two.
extern const std::span<const RewriteRule> kMilWholeAttention, kMilAttentionProducts;

// Inputs and outputs of types that packages do not have become ones that they have, with casts.
Status give_interface_types(Graph& graph, PassStats& stats);

// Operations on integers with scales compute on floats between quantize and dequantize, which is
// the form that programs have. Inputs and outputs are the real numbers.
Status simulate_integers(Graph& graph, PassContext& context, PassStats& stats);

}  // namespace ec::passes
