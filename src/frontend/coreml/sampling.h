// Where the elements of a resized image lie in the original, by Core ML's names of the ways.
#pragma once

#include <optional>
#include <string>

#include "frontend/coreml/op_call.h"

namespace ec::mil {

enum class Sampling : uint8_t { Default, StrictAlign, Align, Unalign, Offset };

Sampling read_sampling(OpCall& c);

}  // namespace ec::mil
