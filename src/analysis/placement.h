// Where an operation runs, and why it does not run better: the names of what
// edgecompiler/report/placement.h declares.
#pragma once

#include <span>
#include <string_view>

#include "edgecompiler/report/placement.h"

namespace ec {

std::string_view placement_name(Placement placement);
// The names of all, in order of the enumeration.
std::span<const std::string_view> placement_names();

}  // namespace ec
