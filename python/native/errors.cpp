// Diagnostics as Python data, and the translation of failures into edgecompiler.errors.
#include "bindings.h"
#include "support/strings.h"

namespace ec::python {

py::dict diagnostic_to_dict(const Diagnostic& diagnostic) {
  py::dict dict;
  dict["severity"] = severity_name(diagnostic.severity);
  dict["code"] = code_id(diagnostic.code);
  // Names and values of a model may hold bytes that are no text.
  dict["message"] = text(diagnostic.message);
  dict["file"] = text(diagnostic.file);
  dict["node"] = text(diagnostic.node);
  dict["op_type"] = text(diagnostic.op_type);
  py::list notes;
  for (const std::string& note : diagnostic.notes) notes.append(text(note));
  dict["notes"] = std::move(notes);
  dict["hint"] = text(diagnostic.hint);
  dict["text"] = text(format_diagnostic(diagnostic));
  return dict;
}

namespace {

void raise_in_python(const Failure& failure) {
  py::list items;
  for (const Diagnostic& diagnostic : failure.diagnostics())
    items.append(diagnostic_to_dict(diagnostic));
  const py::object make = py::module_::import("edgecompiler.errors").attr("from_diagnostics");
  const py::object error = make(items, text(failure.path()), text(failure.target()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void bind_errors(py::module_& module) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Failure& failure) {
      raise_in_python(failure);
    }
  });
  module.def(
      "nearest_names",
      [](const std::string& wanted, const std::vector<std::string>& known) {
        return nearest_names(wanted, std::vector<std::string_view>(known.begin(), known.end()));
      },
      py::arg("wanted"), py::arg("known"), "Up to three known names close to the wanted one.");
}

}  // namespace ec::python
