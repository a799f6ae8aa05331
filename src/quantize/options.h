// The options of quantisation.
#pragma once

#include "options/option_def.h"

namespace ec::quantize {

OptionGroup quantize_options();

}  // namespace ec::quantize
