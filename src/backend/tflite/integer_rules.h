// The integer rules of TFLite (its quantization specification), which back ends that write TFLite
// files share.
#pragma once

#include "quantize/target/target_spec.h"

namespace ec::quantize {

const TargetSpec& tflite_spec();

// The rule of one operation. `dense_per_channel`: fully connected weights have a scale for each
// output channel; false for runtimes that know one scale only.
OpRule describe_tflite_op(const Operation& op, Width width, bool dense_per_channel);
// The operations that may have an integer form with activations of that width; the others have
// none.
std::vector<OpKind> tflite_integer_ops(Width width);
// How an operation that computes on floats takes 8-bit weights (TFLite's hybrid kernels).
WeightRule describe_tflite_weights(const Operation& op);

}  // namespace ec::quantize
