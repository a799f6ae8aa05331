// What a run costs, as far as it can be known without a device.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "report/placement.h"

namespace ec::metal {

// Products of the graph that is written, with the rows that say where operations are predicted to
// run, and the bytes of its weights as the package stores them. Nothing where the Neural Engine has
// the smaller part.
std::optional<DeviceEstimate> estimate_run(const Graph& written, int64_t parameter_bytes,
                                           const PlacementReport& report);

}  // namespace ec::metal
