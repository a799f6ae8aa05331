// The rules that bring a graph into the form TFLite has, by family. legalise.cpp makes passes of
// them.
#pragma once

#include <span>

#include "passes/rewriter.h"

namespace ec::passes {

extern const std::span<const RewriteRule> kTfliteActivations, kTfliteArithmetic, kTfliteNorms,
    kTfliteFusedActivations, kTfliteHeightOne, kTfliteSpatial3d, kTfliteWindows,
    kTfliteConvTranspose, kTfliteLinear, kTfliteResize, kTfliteReductions, kTfliteMovement,
    kTfliteRecurrent, kTfliteEinsum, kTfliteGridSample, kTfliteAttention, kTfliteScatter,
    kTfliteSignal, kTfliteSpectrum, kTflitePublished, kTfliteLoops, kTfliteChannelsLast;

// Before the rules: operations on floats of other widths become operations on f32.
Status compute_in_single_precision(Rewriter& rewriter);

}  // namespace ec::passes
