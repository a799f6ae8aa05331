// A graph cut into pieces that run one after the other, each on an Edge TPU of its own.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace ec::coral {

// Pieces in order: the first has the graph's inputs, the last its outputs, and each takes exactly
// what the one before gives, in the same order and under the same names, as a pipeline of devices
// needs it. The slowest piece is as fast as any cut makes it, by estimate. `on_device` has the
// names of results that the device computes: cuts lie between them. NotOnTarget when the graph
// cannot be cut into so many pieces.
Result<std::vector<std::unique_ptr<Graph>>> cut_into_segments(
    const Graph& graph, size_t count, const std::unordered_set<std::string>& on_device);

}  // namespace ec::coral
