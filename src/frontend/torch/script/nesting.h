// Programs build containers of containers; hostile ones build them without end, or in circles.
#pragma once

#include "frontend/torch/value.h"
#include "support/result.h"

namespace ec::torch::script {

// An error when the value nests too deep, has too many items, or has `container` inside itself.
// `items`, when given: how many were looked at.
Status check_nesting(const TorchValue& value, const void* container = nullptr,
                     size_t* items = nullptr);

// How many items of a list a value takes the memory of: texts are values, too.
size_t memory_items(const TorchValue& value);
size_t memory_items(const std::vector<TorchValue>& values);

}  // namespace ec::torch::script
