// Model files in and out.
#include <map>

#include "bindings.h"
#include "driver/load.h"
#include "driver/save.h"
#include "ir/text.h"

namespace ec::python {
namespace {

using GraphPtr = std::shared_ptr<Graph>;
using Shapes = std::map<std::string, std::vector<int64_t>>;

GraphPtr load(const std::string& path, Shapes input_shapes, std::map<std::string, int64_t> dims) {
  CompileOptions options;
  options.input_shapes = std::move(input_shapes);
  options.dims = std::move(dims);
  DiagnosticSink sink;
  Result<LoadedModel> model = load_model(path, options, sink);
  if (!model.ok()) {
    if (!sink.has_errors()) sink.report(model.error().diagnostic());
    throw Failure(sink.diagnostics(), path);
  }
  return GraphPtr(std::move(model->graph));
}

}  // namespace

void bind_model(py::module_& module) {
  module.def("load", &load, py::arg("path"), py::arg("input_shapes"), py::arg("dims"),
             py::call_guard<py::gil_scoped_release>());
  module.def(
      "save",
      [](const Graph& graph, const std::string& path) { check_or_throw(save_model(graph, path)); },
      py::arg("graph"), py::arg("path"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "parse_ir", [](const std::string& text) { return GraphPtr(value_or_throw(parse(text))); },
      py::arg("text"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace ec::python
