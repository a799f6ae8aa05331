// Clamps: the bounds of a clip operation, and the clamps that an operation can carry in itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir/graph.h"
#include "ops/attrs.h"

namespace ec {

inline constexpr float kRelu6Bound = 6.0f;

// Operand 1 (low) or 2 (high) of a clip: `otherwise` where there is none, not-a-number where it is
// no constant of one element.
float clip_bound(const Operation& op, size_t operand, float otherwise);

// The clamps that integer kernels and the fused activation field of files know.
enum class FusedClamp : uint8_t { None, Relu, Relu6, ReluN1To1 };
// What an activation is as such a clamp; `alpha` and `beta` are the bounds of Activation::Clip.
// Empty: it is none, and has to be an operation of its own. This is the one rule that legalising,
// quantisation and writing of files share.
std::optional<FusedClamp> fused_clamp(Activation activation, float alpha, float beta);
// The same of an operation: a relu, or a clip with known bounds; empty for all others.
std::optional<FusedClamp> fused_clamp(const Operation& op);

}  // namespace ec
