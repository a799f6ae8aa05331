// What the binding files share: failure transport, buffers and the per-subject entry points.
//
// The module uses only the buffer protocol and plain Python types at its border, not numpy's C API:
// one build works with any numpy, and the Python layer turns buffers into arrays.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "support/diagnostic.h"
#include "support/result.h"

namespace ec::python {

namespace py = pybind11;

// The one exception that crosses into pybind11: translated to a class of edgecompiler.errors.
class Failure : public std::exception {
 public:
  explicit Failure(std::vector<Diagnostic> diagnostics, std::string path = {},
                   std::string target = {})
      : diagnostics_(std::move(diagnostics)), path_(std::move(path)), target_(std::move(target)) {}
  explicit Failure(const Error& error) : Failure(std::vector<Diagnostic>{error.diagnostic()}) {}

  const char* what() const noexcept override { return "edgecompiler failure"; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const std::string& path() const { return path_; }
  const std::string& target() const { return target_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string path_, target_;
};

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw Failure(result.error());
  return std::move(result).value();
}
inline void check_or_throw(const Status& status) {
  if (!status.ok()) throw Failure(status.error());
}

// Text of a model as a Python string: bytes that are no UTF-8 become U+FFFD.
inline py::str text(std::string_view value) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

py::dict diagnostic_to_dict(const Diagnostic& diagnostic);

void bind_errors(py::module_& module);
void bind_bytes(py::module_& module);
void bind_graph(py::module_& module);
void bind_jobs(py::module_& module);
void bind_model(py::module_& module);
void bind_options(py::module_& module);
void bind_session(py::module_& module);

}  // namespace ec::python
