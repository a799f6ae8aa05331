#include "types.h"

namespace ec::python {

DType dtype_from_text(const std::string& text) {
  const std::optional<DType> dtype = dtype_from_name(text);
  if (!dtype) throw py::type_error("no element type '" + text + "'");
  return *dtype;
}

py::object shape_to_python(const std::optional<Shape>& shape) {
  if (!shape) return py::none();
  py::list dims;
  for (const Dim& dim : *shape) {
    if (dim.is_static())
      dims.append(dim.size());
    else if (dim.is_symbol())
      dims.append(text(dim.symbol_name()));
    else
      dims.append(py::none());
  }
  return dims;
}

std::optional<Shape> shape_from_python(const py::object& value) {
  if (value.is_none()) return std::nullopt;
  Shape shape;
  for (const py::handle item : value) {
    if (item.is_none()) {
      shape.push_back(Dim::unknown());
    } else if (py::isinstance<py::str>(item)) {
      shape.push_back(Dim::symbol(py::cast<std::string>(item)));
    } else {
      const auto size = py::cast<int64_t>(item);
      if (size < 0)
        throw Failure(Error(Code::BadValue, "a dimension cannot be " + std::to_string(size))
                          .hint("None is an unknown size, a string names an open one"));
      shape.push_back(size);
    }
  }
  return shape;
}

TensorType type_from_python(const std::string& dtype, const py::object& shape) {
  TensorType type(dtype_from_text(dtype));
  type.shape = shape_from_python(shape);
  return type;
}

py::object quant_to_python(const std::optional<QuantParams>& quant) {
  if (!quant) return py::none();
  return py::make_tuple(quant->scales, quant->zero_points, quant->axis);
}

}  // namespace ec::python
