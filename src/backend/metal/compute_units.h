// Which compute unit Core ML is predicted to choose for an operation. Nothing but a device of the
// right system decides; the rules are those that Apple and others have published or measured.
#pragma once

#include <string_view>

#include "backend/metal/options.h"
#include "ir/graph.h"
#include "report/placement.h"

namespace ec::metal {

inline constexpr std::string_view kOnNeuralEngine = "predicted: Neural Engine",
                                  kOnGpu = "predicted: GPU", kOnCpu = "predicted: CPU";

// Whether an operation has a row in reports: casts between precisions are no operations of the
// model.
bool is_told(const Operation& op);

// Fills placement, status ("predicted: Neural Engine"), reason and fix of an operation's row.
// `in_range`: applications choose sizes within a range.
void predict_unit(const Operation& op, ComputeUnits allowed, OpPlacement& row,
                  bool in_range = false);

}  // namespace ec::metal
