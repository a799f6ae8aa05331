// The report of a quantisation as JSON.
#pragma once

#include <string>

#include "quantize/strategy/strategy.h"

namespace ec {

std::string quantize_json(const quantize::QuantizeReport& report);

}  // namespace ec
