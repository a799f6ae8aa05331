// The rules that write operations in forms the Edge TPU maps, by family; legalise.cpp makes a pass
// of them. Graphs of integers give the same bits as before; forms that are equal as real numbers
// only are used in front of quantisation, on graphs of floats.
#pragma once

#include <span>
#include <string_view>

#include "passes/replacement.h"

namespace ec::passes {

extern const std::span<const RewriteRule> kCoralActivations, kCoralConcat, kCoralDilation,
    kCoralLinear, kCoralPads, kCoralBlocksAndTiles, kCoralRanks, kCoralReductions, kCoralResize,
    kCoralSlices, kCoralSoftmax;

// Floats without quantisation: the ranges are measured on whatever stands here afterwards.
bool is_float_form(const Operation* op);
// True when operand and result have one type and the same quantisation parameters, so that an
// operation that moves elements may copy the stored integers.
bool moves_elements_only(const Operation* op);
// The result with the quantisation parameters of `like`, whose elements it holds.
Tensor* with_parameters_of(Replacement& p, Tensor* result, const Tensor* like);
// Replaces the operation and notes in which form: "Gather 'shuffle' as a 1x1 convolution".
Result<bool> rewritten(Replacement& p, Tensor* result, std::string_view form);
Result<bool> rewritten_all(Replacement& p, std::span<Tensor* const> results, std::string_view form);

// Filters of zeros and ones: each result of the convolution is one of the elements that it reads.
// `ones` has the flat indices of the ones. The stored factor is exactly 1, so integers stay as they
// are.
Tensor* selection_filters(Replacement& p, const Tensor* like, const std::vector<int64_t>& shape,
                          std::span<const int64_t> ones);

}  // namespace ec::passes
