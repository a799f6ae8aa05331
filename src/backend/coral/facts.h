// What this machine has of the Edge TPU: devices, Google's driver, libraries and compiler.
#pragma once

#include <vector>

#include "edgecompiler/report/property.h"

namespace ec::coral {

bool has_device();
std::vector<Fact> machine_facts();

}  // namespace ec::coral
