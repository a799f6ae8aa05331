// Quantisation with the parameters that the model carries: nothing is measured, nothing recomputed.
#pragma once

#include "quantize/strategy/common_steps.h"
#include "quantize/strategy/strategy.h"

namespace ec::quantize::qat {

Status begin(QuantizeContext& context);

// NoTrainedRanges where the graph has no quantize-dequantize pairs.
Status lift(QuantizeContext& context);
Status find_functions(QuantizeContext& context);
Status analyse(QuantizeContext& context);
Status take_weights(QuantizeContext& context);
Status convert_graph(QuantizeContext& context);

inline constexpr Step kSteps[] = {
    {"lift", "quantize-dequantize pairs become parameters of the tensors they round", lift},
    {"functions",
     "functions of one rounded tensor become one operation, or get ranges for their inner values",
     find_functions},
    {"analyse", "which operations become integer: those whose operands and results have parameters",
     analyse},
    {"weights", "integer weights with the scales of the model", take_weights},
    {"convert", "integer operations; quantize and dequantize at the borders", convert_graph},
    {"verify", "the rules that quantised graphs keep", verify_result},
};

}  // namespace ec::quantize::qat
