#include "driver/tflite_output.h"

#include <fmt/format.h>

#include "driver/self_check.h"
#include "edgecompiler/version.h"
#include "frontend/tflite/tflite.h"
#include "quantize/fold_input/preprocessing_keys.h"
#include "support/sha256.h"

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
                      options.quantize, fs::path(options.calibration_data).filename().string(),
                      options.calibration_samples, options.calibration_method,
                      fmt::join(options.mean, ","), fmt::join(options.std, ","));
  text += fmt::format(";pixel_range={};input_layout={};color={};resize={};io_type={};keep_float={}",
                      options.pixel_range, options.input_layout, options.color, options.resize,
                      options.io_type, fmt::join(options.keep_float, ","));
  text += fmt::format(";edgetpu_runtime={};segments={}", options.edgetpu_runtime, options.segments);
  text += fmt::format(";percentile={};weights={};equalize={};balance={};correct_bias={};effort={}",
                      options.calibration_percentile, options.weights, options.equalize,
                      options.balance, options.correct_bias, options.effort);
  text += fmt::format(";adapt_rounding={}", options.adapt_rounding);
  text += fmt::format(";precise_outputs={}", options.precise_outputs);
  text += fmt::format(";max_drop={};min_sqnr={}", options.max_drop, options.min_sqnr);
  text += fmt::format(";fold_preprocessing={}", options.fold_preprocessing);
  return text + ";stop_after=" + options.stop_after;
}

Result<TfliteWriteOptions> write_options(const Graph& graph, const fs::path& model,
                                         const CompileOptions& options) {
  TfliteWriteOptions result;
  result.fuse_pool_activations = options.target != "coral";
  EC_TRY(const Blob source, map_file(model));
  result.provenance = {{"compiler", fmt::format("edgecompiler {}", version())},
                       {"options_sha256", sha256_hex(options_text(options))},
                       {"source_sha256", sha256_hex(source.bytes())}};
  // What whoever feeds the file needs to know.
  for (const std::string_view key :
       {quantize::kPreprocessingKey, quantize::kFoldedPreprocessingKey})
    if (const auto found = graph.metadata().find(std::string(key)); found != graph.metadata().end())
      result.entries.insert(*found);
  return result;
}

}  // namespace

Result<Blob> encode_output(const Graph& graph, const fs::path& model, const CompileOptions& options,
                           DiagnosticSink& sink, TfliteSummary* summary) {
  EC_TRY(const TfliteWriteOptions write, write_options(graph, model, options));
  return encode_tflite(graph, write, sink, summary);
}

Result<OutputDraft> draft_output(const fs::path& output, const Blob& bytes) {
  EC_TRY(AtomicFile file, AtomicFile::create(output));
  EC_CHECK_OK(file.write(bytes.bytes()));
  return OutputDraft{output, bytes, std::move(file)};
}

Result<SelfCheck> check_drafts(const Graph& graph, std::span<const OutputDraft> drafts) {
  std::vector<std::unique_ptr<Graph>> read;
  std::vector<const Graph*> graphs;
  for (const OutputDraft& draft : drafts) {
    EC_TRY(const Blob file, map_file(draft.file.temporary_path()));
    DiagnosticSink sink;
    Result<std::unique_ptr<Graph>> again = import_tflite(file, draft.output, {}, sink);
    if (!again)
      return Error(Code::SelfCheckFailed,
                   "the written file cannot be read back: " + again.error().message())
          .file(draft.output.string())
          .hint("this is a fault of the compiler: please report it with the model");
    read.push_back(std::move(*again));
    graphs.push_back(read.back().get());
  }
  Result<SelfCheck> check = check_same_results(graph, graphs);
  if (!check) return std::move(check).error().file(drafts.front().output.string());
  return check;
}

Status commit_drafts(std::span<OutputDraft> drafts) {
  for (size_t i = 0; i < drafts.size(); ++i) {
    Status status = drafts[i].file.commit();
    if (status.ok()) continue;
    std::error_code ignored;
    for (size_t done = 0; done < i; ++done) fs::remove(drafts[done].output, ignored);
    return status;
  }
  return {};
}

Status write_tflite_output(const Graph& graph, const fs::path& model, const CompileOptions& options,
                           CompileReport& report, DiagnosticSink& sink) {
  TfliteSummary summary;
  EC_TRY(const Blob bytes, encode_output(graph, model, options, sink, &summary));
  report.operators = std::move(summary.operators);
  report.num_operators = summary.num_operators;
  EC_TRY(OutputDraft draft, draft_output(report.output, bytes));
  EC_TRY(report.self_check, check_drafts(graph, {&draft, 1}));
  report.output_sha256 = sha256_hex(bytes.bytes());
  return commit_drafts({&draft, 1});
}

}  // namespace ec
