// What a run costs, as far as it can be known without a device.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "report/placement.h"

namespace ec::metal {

// Products and weights of the graph that is written, with the rows that say where operations are
// predicted to run. Nothing where the Neural Engine has the smaller part.
std::optional<DeviceEstimate> estimate_run(const Graph& written, const PlacementReport& report);

}  // namespace ec::metal
