// What the rules for convolutions and pools share.
#pragma once

#include "ir/graph.h"

namespace ec::passes {

// The window of a convolution, a transposed one or a pool.
bool is_channels_last(const Operation* op);

}  // namespace ec::passes
