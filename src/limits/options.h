// The options that limit what a job may take.
#pragma once

#include "options/catalog.h"

namespace ec {

OptionGroup limit_options();

}  // namespace ec
