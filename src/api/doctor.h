// What this machine and this build offer.
#pragma once

#include <vector>

#include "driver/registry.h"
#include "edgecompiler/report/property.h"

namespace ec {

std::vector<Fact> doctor_facts(const Registry& registry);

}  // namespace ec
