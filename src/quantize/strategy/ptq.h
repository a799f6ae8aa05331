// Post-training quantisation: ranges of activations are measured on calibration samples. The
// strategies `ptq` (8-bit activations) and `a16w8` (16 bits) run the same steps.
#pragma once

#include "quantize/strategy/common_steps.h"
#include "quantize/strategy/strategy.h"

namespace ec::quantize::ptq {

// Refuses a graph that is quantised already, a budget that cannot be measured, an unknown
// calibration method, and 16-bit activations where the target has none.
Status begin(QuantizeContext& context);

Status analyse(QuantizeContext& context);
Status rescale(QuantizeContext& context);
Status calibrate_activations(QuantizeContext& context);
Status make_outputs_precise(QuantizeContext& context);
Status check_limit(QuantizeContext& context);
Status assign(QuantizeContext& context);
Status make_weights(QuantizeContext& context);
Status keep_budget(QuantizeContext& context);
Status convert_graph(QuantizeContext& context);
Status report(QuantizeContext& context);

inline constexpr Step kSteps[] = {
    {"analyse", "which operations become integer, and which tensors share parameters", analyse},
    {"rescale", "channels made alike between neighbouring layers, where that was measured to help",
     rescale},
    {"calibrate", "the range of every activation, in one pass over the samples",
     calibrate_activations},
    {"outputs", "float outputs that are not rounded on their way, where that costs little",
     make_outputs_precise},
    {"limit", "whether the asked accuracy is within reach, before anything expensive", check_limit},
    {"assign", "scales and zero points, equal where the target wants them equal", assign},
    {"weights", "integer weights, and biases that take back their mean error", make_weights},
    {"budget", "layers raised to a wider type until the asked accuracy holds", keep_budget},
    {"convert", "integer operations; quantize and dequantize at the borders", convert_graph},
    {"verify", "the rules that quantised graphs keep", verify_result},
    {"report", "error of every layer and of the outputs on samples kept apart", report},
};

// Shared by the steps: a trial on the present graph and plan, with the samples that decide choices.
Status open_trial(QuantizeContext& context);
// Runs of the network that the search for ranges may take.
size_t trial_runs(const QuantizeContext& context);

}  // namespace ec::quantize::ptq
