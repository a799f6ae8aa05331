// The integer rules of TFLite (its quantization specification), and what follows from them for the
// targets whose files are TFLite files. Nothing else in quantize/ knows a target by name.
#pragma once

#include "quantize/target/target_spec.h"

namespace ec::quantize {

const TargetSpec& tflite_spec();
const TargetSpec& coral_spec();

// The specs above, and the one of that name; null for targets that compute in floating point only.
std::span<const TargetSpec> all_target_specs();
const TargetSpec* find_target_spec(std::string_view target);

// The rule of one operation. `dense_per_channel`: fully connected weights have a scale for each
// output channel; false for runtimes that know one scale only.
OpRule describe_tflite_op(const Operation& op, Width width, bool dense_per_channel);
// The operations that may have an integer form with activations of that width; the others have
// none.
std::vector<OpKind> tflite_integer_ops(Width width);
// How an operation that computes on floats takes 8-bit weights (TFLite's hybrid kernels).
WeightRule describe_tflite_weights(const Operation& op);

}  // namespace ec::quantize
