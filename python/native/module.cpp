// edgecompiler._native: the module that the Python layer stands on. Not for use from outside.
#include "bindings.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Native part of edgecompiler; use the edgecompiler package instead.";
  module.attr("IR_VERSION") = "1.0";
  module.attr("__version__") = EC_VERSION;
  ec::python::bind_errors(module);
  ec::python::bind_bytes(module);
  ec::python::bind_graph(module);
  ec::python::bind_options(module);
  ec::python::bind_model(module);
  ec::python::bind_jobs(module);
  ec::python::bind_session(module);
}
