// Element types, shapes and quantisation between the IR and plain Python values.
#pragma once

#include "bindings.h"
#include "ir/type.h"

namespace ec::python {

DType dtype_from_text(const std::string& text);

// Sizes as int, named open dimensions as str, unknown ones as None; None without a rank.
py::object shape_to_python(const std::optional<Shape>& shape);
std::optional<Shape> shape_from_python(const py::object& value);
TensorType type_from_python(const std::string& dtype, const py::object& shape);

// (scales, zero points, axis) or None.
py::object quant_to_python(const std::optional<QuantParams>& quant);

}  // namespace ec::python
