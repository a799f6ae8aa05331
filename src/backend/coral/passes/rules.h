// The rules that write operations in forms the Edge TPU maps, by family; legalise.cpp makes a pass
// of them. Graphs of integers give the same bits as before; forms that are equal as real numbers
// only are used in front of quantisation, on graphs of floats.
#pragma once

#include <span>
#include <string_view>

#include "passes/replacement.h"

namespace ec::passes {

extern const std::span<const RewriteRule> kCoralActivations, kCoralConcat, kCoralDilation,
    kCoralLinear, kCoralPads, kCoralImages, kCoralRanks, kCoralReductions, kCoralResize,
    kCoralSlices, kCoralSoftmax;

// Floats without quantisation: the ranges are measured on whatever stands here afterwards.
bool is_float_form(const Operation* op);
// Movement of stored numbers: operand and result are of the same type and parameters.
bool keeps_numbers(const Operation* op);
// A result with the parameters of the tensor that it takes its numbers from.
Tensor* same_numbers(Replacement& p, Tensor* result, const Tensor* like);
// Replaces the operation and notes in which form: "Gather 'shuffle' as a 1x1 convolution".
Result<bool> rewritten(Replacement& p, Tensor* result, std::string_view form);
Result<bool> rewritten_all(Replacement& p, std::span<Tensor* const> results, std::string_view form);

// Filters of zeros and ones: each result is one of the numbers that a convolution reads. `ones` has
// the places of the ones. Multiplied by exactly 1, integers come out as they are.
Tensor* picking_filters(Replacement& p, const Tensor* like, const std::vector<int64_t>& shape,
                        std::span<const int64_t> ones);

}  // namespace ec::passes
