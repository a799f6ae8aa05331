#include "driver/compile.h"

#include <fmt/format.h>

#include <chrono>

#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/quantize.h"
#include "driver/save.h"
#include "driver/targets.h"
#include "driver/tflite_output.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The option names a file, or a directory that gets NAME + suffix; empty: beside the model.
fs::path output_path(const fs::path& model, const std::string& option, const std::string& suffix) {
  const fs::path name = model.stem().string() + suffix;
  if (option.empty()) return model.parent_path() / name;
  std::error_code ignored;
  return fs::is_directory(option, ignored) ? option / name : fs::path(option);
}

// Writing over the model would destroy the only copy of it.
Status refuse_overwrite(const fs::path& model, const fs::path& output) {
  std::error_code error;
  if (fs::equivalent(model, output, error) && !error)
    return Error(Code::Usage, "the output is the model itself")
        .file(output.string())
        .hint("choose another name with -o");
  return {};
}

Status save(const Graph& graph, const fs::path& model, const CompileOptions& options,
            CompileReport& report, DiagnosticSink& sink) {
  if (to_lower(report.output.extension().string()) == ".tflite")
    return write_tflite_output(graph, model, options, report, sink);
  return save_model(graph, report.output);
}

// Fills everything but target and output, then writes the output if there is one.
Status work(const fs::path& model, const CompileOptions& given, std::string_view pipeline,
            CompileReport& report, DiagnosticSink& sink) {
  report.model = model.string();
  auto start = Clock::now();
  EC_TRY(LoadedModel loaded, load_model(model, given, sink));
  report.load_ms = milliseconds_since(start);
  report.before = summarize(*loaded.graph);
  const ImportedModel imported = remember_import(*loaded.graph);
  const CompileOptions options = with_strategy_of_model(given, imported, report.target);
  EC_CHECK_OK(prepare_import(*loaded.graph, options));
  EC_TRY(report.passes, optimize(*loaded.graph, options, pipeline, sink));
  if (wants_quantization(options)) {
    EC_TRY(report.quantization, quantize_graph(loaded.graph, imported, options, report.target, sink));
  } else {
    EC_CHECK_OK(refuse_float(*loaded.graph, report.target));
  }
  report.after = summarize(*loaded.graph);
  if (report.output.empty()) return {};
  start = Clock::now();
  EC_CHECK_OK(save(*loaded.graph, model, options, report, sink));
  report.save_ms = milliseconds_since(start);
  std::error_code ignored;
  report.output_bytes = static_cast<int64_t>(fs::file_size(report.output, ignored));
  return {};
}

}  // namespace

Result<CompileReport> compile_model(const fs::path& model, const CompileOptions& options,
                                    DiagnosticSink& sink) {
  EC_TRY(const TargetInfo* target, find_target(options.target));
  CompileReport report;
  report.target = target->name;
  report.output =
      output_path(model, options.output, fmt::format("_{}{}", target->name, target->extension));
  if (to_lower(report.output.extension().string()) != target->extension)
    return Error(Code::Usage,
                 fmt::format("target '{}' writes {} files, not '{}'", target->name,
                             target->extension, printable(report.output.filename().string())))
        .hint(fmt::format("use -o NAME{}, or `edgecompile optimize` for an .onnx file",
                          target->extension));
  EC_CHECK_OK(refuse_overwrite(model, report.output));
  EC_CHECK_OK(check_quantize_options(options, target->name));
  EC_CHECK_OK(work(model, options, target_pipeline(*target, options), report, sink));
  return report;
}

Result<CompileReport> quantize_model(const fs::path& model, const CompileOptions& given,
                                     DiagnosticSink& sink) {
  CompileOptions options = given;
  if (options.quantize.empty()) options.quantize = "ptq";
  if (options.target == "cpu" || options.target == "auto") options.target = "tflite";
  EC_TRY(const TargetInfo* target, find_target(options.target));
  CompileReport report;
  report.target = target->name;
  if (!options.output.empty()) {
    report.output = output_path(model, options.output, "_quantized.ecir");
    EC_CHECK_OK(check_output_format(report.output));
    EC_CHECK_OK(refuse_overwrite(model, report.output));
  }
  if (!wants_quantization(options))
    return Error(Code::Usage, "`quantize` with --quantize none has nothing to do");
  EC_CHECK_OK(check_quantize_options(options, target->name));
  EC_CHECK_OK(work(model, options, target_pipeline(*target, options), report, sink));
  return report;
}

Result<CompileReport> optimize_model(const fs::path& model, const CompileOptions& options,
                                     DiagnosticSink& sink) {
  CompileReport report;
  if (!options.output.empty()) {
    report.output = output_path(model, options.output, "_optimized.onnx");
    EC_CHECK_OK(check_output_format(report.output));
    EC_CHECK_OK(refuse_overwrite(model, report.output));
  }
  EC_CHECK_OK(work(model, options, "optimize", report, sink));
  return report;
}

}  // namespace ec
