// Half precision: the last step before a package is written. Operations on f32 compute on f16, with
// casts where the two meet; inputs and outputs keep their types, those of nested graphs too.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::metal {

inline constexpr float kLargestHalf = 65504.0f;
// Numbers that stand for infinity: the least and the largest float, and -1e30 in masks.
inline constexpr float kInfinite = 1e29f;

// Looked up, never iterated.
using OperationReasons = std::unordered_map<const Operation*, std::string>;

struct HalfPrecisionOptions {
  bool half_recurrent = false;  // recurrent layers take f16, from iOS 17 on
  // Operations that have to stay in f32, as a trial run found.
  OperationReasons overflows = {};
};

// An operation that stays in f32.
struct KeptSingle {
  std::string name, op;
  std::string reason;
};

Result<std::vector<KeptSingle>> give_half_precision(Graph& graph,
                                                    const HalfPrecisionOptions& options);

// For comparisons: what computes on f16 computes on f32, with the constants that it has.
Status give_single_precision(Graph& graph);

}  // namespace ec::metal
