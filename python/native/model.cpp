// Model files in and out.
#include <map>

#include "bindings.h"
#include "driver/compile.h"
#include "driver/evaluate.h"
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

// Keywords by name; what is not there keeps its default.
struct Options {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, bool> flags;
  std::map<std::string, std::vector<std::string>> lists;
  Shapes input_shapes;
  std::map<std::string, int64_t> dims;
};

template <class Map>
typename Map::mapped_type value_of(const Map& map, const char* key,
                                   typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

CompileOptions compile_options(const Options& given) {
  CompileOptions options;
  const auto text = [&](const char* key, std::string& field) {
    field = value_of(given.texts, key, field);
  };
  const auto flag = [&](const char* key, bool& field) {
    field = value_of(given.flags, key, field);
  };
  const auto number = [&](const char* key, auto& field) {
    const std::vector<double> values = value_of(given.numbers, key, {});
    if (!values.empty()) field = static_cast<std::decay_t<decltype(field)>>(values[0]);
  };
  text("target", options.target);
  text("output", options.output);
  text("passes", options.passes);
  text("quantize", options.quantize);
  text("calibration_data", options.calibration_data);
  text("calibration_method", options.calibration_method);
  text("save_statistics", options.save_statistics);
  text("statistics", options.statistics);
  text("pixel_range", options.pixel_range);
  text("input_layout", options.input_layout);
  text("color", options.color);
  text("resize", options.resize);
  text("io_type", options.io_type);
  text("weights", options.weights);
  text("equalize", options.equalize);
  text("balance", options.balance);
  text("correct_bias", options.correct_bias);
  text("adapt_rounding", options.adapt_rounding);
  text("precise_outputs", options.precise_outputs);
  text("effort", options.effort);
  text("edgetpu_rules", options.edgetpu_rules);
  number("calibration_samples", options.calibration_samples);
  number("calibration_percentile", options.calibration_percentile);
  number("max_drop", options.max_drop);
  number("min_sqnr", options.min_sqnr);
  number("edgetpu_runtime", options.edgetpu_runtime);
  number("segments", options.segments);
  if (given.numbers.contains("threads")) number("threads", options.threads.emplace());
  options.mean = value_of(given.numbers, "mean", {});
  options.std = value_of(given.numbers, "std", {});
  flag("keep_io_layout", options.keep_io_layout);
  flag("fold_preprocessing", options.fold_preprocessing);
  flag("strict", options.strict);
  flag("edgetpu_compiler", options.edgetpu_compiler);
  options.keep_float = value_of(given.lists, "keep_float", {});
  options.disable_pass = value_of(given.lists, "disable_pass", {});
  options.input_shapes = given.input_shapes;
  options.dims = given.dims;
  return options;
}

template <class T>
T value_or_fail(Result<T> result, DiagnosticSink& sink, const std::string& path,
                const std::string& target) {
  if (result.ok()) return std::move(result).value();
  if (!sink.has_errors()) sink.report(result.error().diagnostic());
  throw Failure(sink.diagnostics(), path, target);
}

using CompileFn = Result<CompileReport> (*)(const std::filesystem::path&, const CompileOptions&,
                                            DiagnosticSink&);

// Runs one of the driver's file-to-file functions; gives its report as JSON text.
void bind_compile(py::module_& module, const char* name, CompileFn function) {
  module.def(
      name,
      [function](const std::string& path, const Options& given) {
        const CompileOptions options = compile_options(given);
        DiagnosticSink sink;
        return compile_json(
            value_or_fail(function(path, options, sink), sink, path, options.target));
      },
      py::arg("path"), py::arg("options"), py::call_guard<py::gil_scoped_release>());
}

std::string compile_all(const std::vector<std::string>& paths, const Options& given) {
  const CompileOptions options = compile_options(given);
  DiagnosticSink sink;
  const std::string path = paths.empty() ? std::string() : paths.front();
  return compile_json(std::span<const CompileReport>(
      value_or_fail(compile_models(paths, options, sink), sink, path, options.target)));
}

std::string evaluate(const std::string& path, const Options& given) {
  const CompileOptions options = compile_options(given);
  EvaluateOptions what;
  what.data = value_of(given.texts, "data", {});
  what.reference = value_of(given.texts, "reference", {});
  what.labels = value_of(given.texts, "labels", {});
  what.confusion = value_of(given.flags, "confusion", false);
  const auto number = [&](const char* key) {
    const std::vector<double> values = value_of(given.numbers, key, {});
    return values.empty() ? int64_t{0} : static_cast<int64_t>(values[0]);
  };
  what.label_offset = number("label_offset");
  what.samples = number("samples");
  DiagnosticSink sink;
  return evaluate_json(
      value_or_fail(evaluate_model(path, what, options, sink), sink, path, options.target));
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Options>(module, "Options")
      .def(py::init<>())
      .def_readwrite("texts", &Options::texts)
      .def_readwrite("numbers", &Options::numbers)
      .def_readwrite("flags", &Options::flags)
      .def_readwrite("lists", &Options::lists)
      .def_readwrite("input_shapes", &Options::input_shapes)
      .def_readwrite("dims", &Options::dims);
  module.def("load", &load, py::arg("path"), py::arg("input_shapes"), py::arg("dims"),
             py::call_guard<py::gil_scoped_release>());
  module.def("compile", &compile_all, py::arg("paths"), py::arg("options"),
             py::call_guard<py::gil_scoped_release>());
  module.def("evaluate", &evaluate, py::arg("path"), py::arg("options"),
             py::call_guard<py::gil_scoped_release>());
  bind_compile(module, "optimize", &optimize_model);
  bind_compile(module, "quantize", &quantize_model);
  module.def(
      "save",
      [](const Graph& graph, const std::string& path) { check_or_throw(save_model(graph, path)); },
      py::arg("graph"), py::arg("path"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "parse_ir", [](const std::string& text) { return GraphPtr(value_or_throw(parse(text))); },
      py::arg("text"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace ec::python
