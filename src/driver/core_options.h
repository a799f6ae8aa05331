// The options that belong to no back end: those of the driver, of quantisation and of calibration,
// in the order of --help.
#pragma once

#include <span>

#include "options/option_def.h"

namespace ec {

std::span<const OptionGroup> core_option_groups();

}  // namespace ec
