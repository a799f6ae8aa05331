// The rules that bring a graph into the form TFLite has, by family. legalise.cpp makes passes of
// them.
#pragma once

#include <span>

#include "backend/tflite/formulas.h"
#include "passes/rewriter.h"

namespace ec::passes {

extern const std::span<const RewriteRule> kTfliteActivations, kTfliteArithmetic, kTfliteNorms,
    kTfliteFusedActivations, kTfliteHeightOne, kTfliteSpatial3d, kTfliteWindows,
    kTfliteConvTranspose, kTfliteLinear, kTfliteResize, kTfliteReductions, kTfliteMovement,
    kTfliteRecurrent, kTfliteEinsum, kTfliteGridSample, kTfliteAttention, kTfliteScatter,
    kTfliteSignal, kFourierProducts, kTfliteSpectrum, kTflitePublished, kTfliteLoops,
    kTfliteChannelsLast;

}  // namespace ec::passes
