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

// The keywords of quantisation by name; what is not there keeps its default.
struct Quantization {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<double>> numbers;
  std::vector<std::string> keep_float;
};

void set_quantization(CompileOptions& options, const Quantization& given) {
  const auto text = [&](const char* key, std::string& field) {
    if (const auto found = given.texts.find(key); found != given.texts.end()) field = found->second;
  };
  const auto numbers = [&](const char* key) {
    const auto found = given.numbers.find(key);
    return found == given.numbers.end() ? std::vector<double>() : found->second;
  };
  text("quantize", options.quantize);
  text("calibration_data", options.calibration_data);
  text("calibration_method", options.calibration_method);
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
  text("effort", options.effort);
  const auto number = [&](const char* key, double& field) {
    if (const auto values = numbers(key); !values.empty()) field = values[0];
  };
  number("calibration_percentile", options.calibration_percentile);
  number("max_drop", options.max_drop);
  number("min_sqnr", options.min_sqnr);
  options.mean = numbers("mean");
  options.std = numbers("std");
  if (const auto count = numbers("calibration_samples"); !count.empty())
    options.calibration_samples = static_cast<int64_t>(count[0]);
  options.keep_float = given.keep_float;
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
                 bool keep_io_layout, const Quantization& quantization) {
        CompileOptions options;
        options.target = target;
        options.output = output;
        options.input_shapes = std::move(input_shapes);
        options.dims = std::move(dims);
        options.passes = passes;
        options.disable_pass = std::move(disable_pass);
        options.keep_io_layout = keep_io_layout;
        set_quantization(options, quantization);
        return run_compile(function, path, std::move(options));
      },
      py::arg("path"), py::arg("target"), py::arg("output"), py::arg("input_shapes"),
      py::arg("dims"), py::arg("passes"), py::arg("disable_pass"), py::arg("keep_io_layout"),
      py::arg("quantization"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Quantization>(module, "Quantization")
      .def(py::init<>())
      .def_readwrite("texts", &Quantization::texts)
      .def_readwrite("numbers", &Quantization::numbers)
      .def_readwrite("keep_float", &Quantization::keep_float);
  module.def("load", &load, py::arg("path"), py::arg("input_shapes"), py::arg("dims"),
             py::call_guard<py::gil_scoped_release>());
  bind_compile(module, "compile", &compile_model);
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
