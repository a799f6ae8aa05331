// Model files in and out.
#include <map>

#include "bindings.h"
#include "driver/compile.h"
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

using CompileFn = Result<CompileReport> (*)(const std::filesystem::path&, const CompileOptions&,
                                            DiagnosticSink&);

// Runs one of the driver's file-to-file functions; gives its report as JSON text.
std::string run_compile(CompileFn function, const std::string& path, CompileOptions options) {
  DiagnosticSink sink;
  const Result<CompileReport> report = function(path, options, sink);
  if (!report.ok()) {
    if (!sink.has_errors()) sink.report(report.error().diagnostic());
    throw Failure(sink.diagnostics(), path, options.target);
  }
  return compile_json(*report);
}

void bind_compile(py::module_& module, const char* name, CompileFn function) {
  module.def(
      name,
      [function](const std::string& path, const std::string& target, const std::string& output,
                 Shapes input_shapes, std::map<std::string, int64_t> dims,
                 const std::string& passes, std::vector<std::string> disable_pass,
                 bool keep_io_layout) {
        CompileOptions options;
        options.target = target;
        options.output = output;
        options.input_shapes = std::move(input_shapes);
        options.dims = std::move(dims);
        options.passes = passes;
        options.disable_pass = std::move(disable_pass);
        options.keep_io_layout = keep_io_layout;
        return run_compile(function, path, std::move(options));
      },
      py::arg("path"), py::arg("target"), py::arg("output"), py::arg("input_shapes"),
      py::arg("dims"), py::arg("passes"), py::arg("disable_pass"), py::arg("keep_io_layout"),
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace

void bind_model(py::module_& module) {
  module.def("load", &load, py::arg("path"), py::arg("input_shapes"), py::arg("dims"),
             py::call_guard<py::gil_scoped_release>());
  bind_compile(module, "compile", &compile_model);
  bind_compile(module, "optimize", &optimize_model);
  module.def(
      "save",
      [](const Graph& graph, const std::string& path) { check_or_throw(save_model(graph, path)); },
      py::arg("graph"), py::arg("path"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "parse_ir", [](const std::string& text) { return GraphPtr(value_or_throw(parse(text))); },
      py::arg("text"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace ec::python
