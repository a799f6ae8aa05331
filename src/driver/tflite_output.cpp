#include "driver/tflite_output.h"

#include <fmt/format.h>

#include "driver/coral.h"
#include "driver/self_check.h"
#include "edgecompiler/version.h"
#include "frontend/tflite/tflite.h"
#include "support/file.h"
#include "support/sha256.h"
#include "writer/tflite/tflite.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

// What decides the content of the file, as text in a fixed order.
std::string options_text(const CompileOptions& options) {
  std::string text = "target=" + options.target + ";passes=" + options.passes;
  text += fmt::format(";keep_io_layout={}", options.keep_io_layout);
  for (const std::string& pass : options.disable_pass) text += ";disable_pass=" + pass;
  for (const auto& [name, sizes] : options.input_shapes) {
    text += ";input_shape=" + name + ":";
    for (const int64_t size : sizes) text += fmt::format("{}x", size);
  }
  for (const auto& [name, size] : options.dims) text += fmt::format(";dim={}={}", name, size);
  text += fmt::format(";quantize={};calibration_data={};samples={};method={};mean={};std={}",
                      options.quantize, options.calibration_data, options.calibration_samples,
                      options.calibration_method, fmt::join(options.mean, ","),
                      fmt::join(options.std, ","));
  text += fmt::format(";pixel_range={};input_layout={};color={};resize={};io_type={};keep_float={}",
                      options.pixel_range, options.input_layout, options.color, options.resize,
                      options.io_type, fmt::join(options.keep_float, ","));
  text += fmt::format(";percentile={};weights={};equalize={};balance={};correct_bias={};effort={}",
                      options.calibration_percentile, options.weights, options.equalize,
                      options.balance, options.correct_bias, options.effort);
  text += fmt::format(";max_drop={};min_sqnr={}", options.max_drop, options.min_sqnr);
  return text + ";stop_after=" + options.stop_after;
}

Result<TfliteWriteOptions> write_options(const fs::path& model, const CompileOptions& options) {
  TfliteWriteOptions result;
  EC_TRY(const Blob source, map_file(model));
  result.provenance = {{"compiler", fmt::format("edgecompiler {}", version())},
                       {"options_sha256", sha256_hex(options_text(options))},
                       {"source_sha256", sha256_hex(source.bytes())}};
  return result;
}

// Reads the file that was just written and runs it.
Result<SelfCheck> read_back(const Graph& graph, const fs::path& written, const fs::path& output) {
  EC_TRY(const Blob file, map_file(written));
  DiagnosticSink sink;
  Result<std::unique_ptr<Graph>> again = import_tflite(file, output, {}, sink);
  if (!again)
    return Error(Code::SelfCheckFailed,
                 "the written file cannot be read back: " + again.error().message())
        .file(output.string())
        .hint("this is a fault of the compiler: please report it with the model");
  Result<SelfCheck> check = check_same_results(graph, **again);
  if (!check) return std::move(check).error().file(output.string());
  return check;
}

}  // namespace

Status write_tflite_output(const Graph& graph, const fs::path& model, const CompileOptions& options,
                           CompileReport& report, DiagnosticSink& sink) {
  EC_TRY(const TfliteWriteOptions write, write_options(model, options));
  TfliteSummary summary;
  EC_TRY(const Blob bytes, encode_tflite(graph, write, sink, &summary));
  report.operators = std::move(summary.operators);
  report.num_operators = summary.num_operators;
  if (report.target == "coral") {
    report.placement.emplace();
    report.placement->model = report.model;
    report.placement->target = report.target;
    EC_CHECK_OK(place_on_coral(bytes, options, *report.placement, sink));
    if (options.strict) EC_CHECK_OK(refuse_host_operations(*report.placement));
  }
  EC_TRY(AtomicFile file, AtomicFile::create(report.output));
  EC_CHECK_OK(file.write(bytes.bytes()));
  EC_TRY(report.self_check, read_back(graph, file.temporary_path(), report.output));
  report.output_sha256 = sha256_hex(bytes.bytes());
  return file.commit();
}

}  // namespace ec
