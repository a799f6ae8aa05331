// Values that the user gives for parameters of forward() that are no tensors.
#pragma once

#include <optional>
#include <string>

#include "frontend/input_value.h"
#include "frontend/torch/value.h"

namespace ec::torch::script {

// The value as a parameter of this type takes it ("int", "Optional[float]", "List[str]"); nothing
// when it does not fit.
std::optional<TorchValue> parameter_value(const std::string& type, const InputValue& given);

// How to give a value for the parameter, with an example of its type.
std::string value_option(const std::string& name, const std::string& type);

}  // namespace ec::torch::script
