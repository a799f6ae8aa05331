// What this machine and this build offer.
#pragma once

#include "driver/registry.h"
#include "edgecompiler/report/lists.h"

namespace ec {

MachineReport machine_report(const Registry& registry);

}  // namespace ec
