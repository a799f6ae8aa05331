// The options of calibration data, and of images that become inputs.
#pragma once

#include "options/option_def.h"

namespace ec::quantize {

OptionGroup calibration_options();
// How an image becomes the value of an input; evaluation has these options, too.
OptionGroup image_options();

}  // namespace ec::quantize
