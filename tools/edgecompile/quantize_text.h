// The part of a report that quantisation adds, for the terminal.
#pragma once

#include <string>

#include "edgecompiler/report/quantization.h"

namespace ec::cli {

std::string quantize_text(const QuantizationReport& report);

}  // namespace ec::cli
