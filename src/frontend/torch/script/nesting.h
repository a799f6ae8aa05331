// Programs build containers of containers; hostile ones build them without end, or in circles.
#pragma once

#include "frontend/torch/value.h"
#include "support/result.h"

namespace ec::torch::script {

// An error when the value nests too deep, has too many items, or has `container` inside itself.
Status check_nesting(const TorchValue& value, const void* container = nullptr);

}  // namespace ec::torch::script
