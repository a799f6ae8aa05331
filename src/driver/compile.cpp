#include "driver/compile.h"

#include <fmt/format.h>

#include <chrono>

#include "driver/coral.h"
#include "driver/coral_output.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/quantize.h"
#include "driver/save.h"
#include "driver/statistics.h"
#include "driver/targets.h"
#include "driver/tflite_output.h"
#include "frontend/default_sizes.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using quantize::GraphForm;

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

bool writes_onnx(const fs::path& output) {
  return to_lower(output.extension().string()) == ".onnx";
}

// Everything before writing: fills the report but for target and output. Without a target: the
// optimised graph.
Result<std::unique_ptr<Graph>> transform(const fs::path& model, const CompileOptions& given,
                                         const TargetInfo* target, CompileReport& report,
                                         DiagnosticSink& sink) {
  report.model = model.string();
  const auto start = Clock::now();
  EC_TRY(LoadedModel loaded, load_model(model, given, sink));
  report.load_ms = milliseconds_since(start);
  // Device code and calibration need fixed sizes; other files may keep them open.
  if (report.target == "coral" || wants_quantization(given))
    if (Status status = bind_default_sizes(*loaded.graph, {}, sink); !status.ok())
      return std::move(status).error().file(model.string());
  report.before = summarize(*loaded.graph);
  EC_TRY(std::optional<quantize::FoldedInput> folded, fold_input(*loaded.graph, given));
  ImportedModel imported = remember_import(*loaded.graph);
  imported.folded = std::move(folded);
  const CompileOptions options = with_strategy_of_model(given, imported, report.target);
  EC_CHECK_OK(prepare_import(*loaded.graph, options));
  const std::string pipeline =
      target != nullptr ? target_pipeline(*target, options, loaded.format) : "optimize";
  EC_TRY(report.passes, optimize(*loaded.graph, options, pipeline, sink));
  if (wants_quantization(options)) {
    const bool onnx = writes_onnx(report.output);
    EC_TRY(report.quantization, quantize_graph(loaded.graph, imported, options, report.target, sink,
                                               onnx ? GraphForm::Simulated : GraphForm::Integer));
    // Whatever the passes before were: this is the form that the file has.
    if (onnx) EC_CHECK_OK(optimize(*loaded.graph, {}, "onnx-qdq", sink));
  } else {
    EC_CHECK_OK(refuse_float(*loaded.graph, report.target));
  }
  if (imported.folded) EC_CHECK_OK(quantize::bytes_at_input(*loaded.graph, imported.folded->input));
  report.after = summarize(*loaded.graph);
  return std::move(loaded.graph);
}

int64_t size_of_file(const fs::path& path) {
  std::error_code ignored;
  return static_cast<int64_t>(fs::file_size(path, ignored));
}

Status save(const Graph& graph, const fs::path& model, const CompileOptions& options,
            CompileReport& report, DiagnosticSink& sink) {
  const auto start = Clock::now();
  const bool tflite = to_lower(report.output.extension().string()) == ".tflite";
  EC_CHECK_OK(tflite ? write_tflite_output(graph, model, options, report, sink)
                     : save_model(graph, report.output));
  report.save_ms = milliseconds_since(start);
  report.output_bytes = size_of_file(report.output);
  return {};
}

Status work(const fs::path& model, const CompileOptions& options, const TargetInfo* target,
            CompileReport& report, DiagnosticSink& sink) {
  EC_TRY(const std::unique_ptr<Graph> graph, transform(model, options, target, report, sink));
  return report.output.empty() ? Status() : save(*graph, model, options, report, sink);
}

// "Edge TPU code" is what Google's compiler wrote and nothing else.
Status refuse_code_name(const fs::path& output, const CompileOptions& options) {
  if (options.edgetpu_compiler || !output.stem().string().ends_with("_edgetpu")) return {};
  return Error(Code::Usage, fmt::format("'{}' would name a file that is no Edge TPU code",
                                        printable(output.filename().string())))
      .hint("choose another name with -o, or add --edgetpu-compiler");
}

Result<fs::path> compiled_path(const fs::path& model, const TargetInfo& target,
                               const CompileOptions& options) {
  // Segments are numbered behind the model's own name.
  const std::string suffix = options.edgetpu_compiler ? "_edgetpu"
                             : options.segments > 0   ? ""
                                                      : fmt::format("_{}", target.name);
  const fs::path output =
      output_path(model, options.output, suffix + std::string(target.extension));
  if (to_lower(output.extension().string()) != target.extension)
    return Error(Code::Usage, fmt::format("target '{}' writes {} files, not '{}'", target.name,
                                          target.extension, printable(output.filename().string())))
        .hint(fmt::format("use -o NAME{}, or `edgecompile optimize` for an .onnx file",
                          target.extension));
  if (target.name == "coral") EC_CHECK_OK(refuse_code_name(output, options));
  if (options.segments == 0) EC_CHECK_OK(refuse_overwrite(model, output));
  return output;
}

// Several models go to one device: the target must have one, and their files different names.
Status check_together(std::span<const CompileReport> reports, const TargetInfo& target,
                      const CompileOptions& options) {
  if (reports.size() == 1) return {};
  if (target.name != "coral")
    return Error(Code::Usage, fmt::format("target '{}' takes one model at a time", target.name))
        .hint("several models are compiled together with --target coral");
  if (options.segments > 0)
    return Error(Code::Usage, "--segments takes one model at a time")
        .hint("cut each model in a run of its own");
  for (size_t i = 0; i < reports.size(); ++i)
    for (size_t k = i + 1; k < reports.size(); ++k)
      if (reports[i].output == reports[k].output)
        return Error(Code::Usage, "two models would be written to the same file")
            .file(reports[i].output.string())
            .hint("give a directory with -o and models of different names");
  return {};
}

}  // namespace

Result<std::vector<CompileReport>> compile_models(std::span<const std::string> models,
                                                  const CompileOptions& given,
                                                  DiagnosticSink& sink) {
  EC_TRY(const CompileOptions options, with_options_of_statistics(given));
  EC_TRY(const TargetInfo* target, find_target(options.target));
  EC_CHECK_OK(check_target_options(*target, options));
  std::vector<CompileReport> reports(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    reports[i].target = target->name;
    EC_TRY(reports[i].output, compiled_path(models[i], *target, options));
  }
  EC_CHECK_OK(check_together(reports, *target, options));
  EC_CHECK_OK(check_quantize_options(options, target->name));
  if (target->name != "coral") {
    EC_CHECK_OK(work(models.front(), options, target, reports.front(), sink));
    return reports;
  }
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<CoralJob> jobs;
  for (size_t i = 0; i < models.size(); ++i) {
    EC_CHECK_OK(refuse_edgetpu_code(models[i], sink));
    EC_TRY(std::unique_ptr<Graph> graph, transform(models[i], options, target, reports[i], sink));
    graphs.push_back(std::move(graph));
    jobs.push_back({graphs.back().get(), models[i], &reports[i]});
  }
  const auto start = Clock::now();
  EC_CHECK_OK(write_coral_outputs(jobs, options, sink));
  for (CompileReport& report : reports) {
    report.save_ms = milliseconds_since(start);
    report.output_bytes = size_of_file(report.output);
  }
  return reports;
}

Result<CompileReport> compile_model(const fs::path& model, const CompileOptions& options,
                                    DiagnosticSink& sink) {
  const std::string models[] = {model.string()};
  EC_TRY(std::vector<CompileReport> reports, compile_models(models, options, sink));
  return std::move(reports.front());
}

Result<CompileReport> quantize_model(const fs::path& model, const CompileOptions& given,
                                     DiagnosticSink& sink) {
  EC_TRY(CompileOptions options, with_options_of_statistics(given));
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
  if (writes_onnx(report.output)) {
    EC_CHECK_OK(check_quantized_onnx(options));
    options.keep_io_layout = true;
  }
  EC_CHECK_OK(work(model, options, target, report, sink));
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
  EC_CHECK_OK(work(model, options, nullptr, report, sink));
  return report;
}

}  // namespace ec
