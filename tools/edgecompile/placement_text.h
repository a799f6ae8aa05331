// What runs where, as text for the terminal.
#pragma once

#include <string>

#include "report/placement.h"

namespace ec::cli {

// One line per kind and reason, or per operation with `all`.
std::string placement_table(const PlacementReport& report, bool all);
// The part of the report that only a device has: counts, what cut the graph, estimates.
std::string device_text(const PlacementReport& report);
// What precision and compressed weights save and cost.
std::string costs_text(const PlacementReport& report);
std::string fixes_text(const PlacementReport& report);

}  // namespace ec::cli
