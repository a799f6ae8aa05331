// Models from files, bytes and graphs, and graphs to files.
#include "buffers.h"
#include "driver/compilation.h"
#include "driver/graph_files.h"
#include "interruptible.h"
#include "ir/text.h"
#include "models.h"
#include "options.h"

namespace ec::python {
namespace {

using GraphPtr = std::shared_ptr<Graph>;

// Formats read numbers in place, which must lie at their natural boundaries.
constexpr uintptr_t kAlignment = 16;

ModelRef model_from_bytes(const std::string& name, const py::buffer& buffer) {
  Blob bytes = blob_from_buffer(buffer);
  if (reinterpret_cast<uintptr_t>(bytes.bytes().data()) % kAlignment != 0)
    bytes = Blob::copy_of(bytes.bytes());
  return {name, std::move(bytes)};
}

Result<GraphPtr> import_graph(const ModelRef& model, const Options& options, DiagnosticSink& sink) {
  EC_TRY(Compilation compilation, Compilation::create(default_registry(), Verb::Inspect,
                                                      std::span(&model, 1), options, sink));
  EC_CHECK_OK(compilation.run("import"));
  return GraphPtr(std::move(compilation.models().front().graph));
}

GraphPtr load(const ModelRef& model, const py::dict& keywords) {
  const Options options = options_from_python(keywords, Verb::Inspect);
  return run_interruptible([&] {
    DiagnosticSink sink;
    return value_or_fail(import_graph(model, options, sink), sink, model.name, {});
  });
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<ModelRef>(module, "Model", "A model: a path, bytes in memory, or a graph.")
      .def(py::init<std::string>(), py::arg("path"))
      .def_static("from_bytes", &model_from_bytes, py::arg("name"), py::arg("data"))
      .def_static(
          "from_graph",
          [](const std::string& name, const GraphPtr& graph) { return ModelRef(name, graph); },
          py::arg("name"), py::arg("graph"));
  module.def("load", &load, py::arg("model"), py::arg("options"));
  module.def(
      "save",
      [](const Graph& graph, const std::string& path) { check_or_throw(save_graph(graph, path)); },
      py::arg("graph"), py::arg("path"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "parse_ir", [](const std::string& text) { return GraphPtr(value_or_throw(parse(text))); },
      py::arg("text"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace ec::python
