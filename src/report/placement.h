// What the compiler does with placement reports beyond showing them.
#pragma once

#include "analysis/placement.h"
#include "edgecompiler/report/placement.h"
#include "support/result.h"

namespace ec {

// NotOnTarget when operations stay on the CPU beside the device, with the first ones by name.
Status refuse_host_operations(const PlacementReport& report);

}  // namespace ec
