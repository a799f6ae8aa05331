// What runs where, as text for the terminal.
#pragma once

#include <string>

#include "driver/check.h"

namespace ec::cli {

// One line per kind and reason, or per operation with `all`.
std::string placement_table(const CheckReport& report, bool all);
// The part of the report that only a device has: counts, what cut the graph, estimates.
std::string device_text(const CheckReport& report);
std::string fixes_text(const CheckReport& report);

}  // namespace ec::cli
