// What the code tells about an input's shape, for the message that asks for it.
#pragma once

#include <optional>
#include <string>

#include "frontend/torch/script/interpreter.h"

namespace ec::torch::script {

struct ShapeHint {
  std::string text;            // "4 dimensions, 3 channels"
  std::string example;         // "1x3x224x224"
  std::vector<int64_t> sizes;  // as far as they are known; -1: open
};

// Follows the parameter to the first layer that takes it; nothing when that is none whose weights
// give a shape away.
std::optional<ShapeHint> shape_hint(Interpreter& interpreter, const std::string& method,
                                    const std::string& parameter);

}  // namespace ec::torch::script
