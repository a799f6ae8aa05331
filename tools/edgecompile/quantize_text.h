// The part of a report that quantisation adds, for the terminal.
#pragma once

#include <string>

#include "quantize/strategy/strategy.h"

namespace ec::cli {

std::string quantize_text(const quantize::QuantizeReport& report);

}  // namespace ec::cli
