#include "driver/coral.h"

#include <algorithm>

#include "backend/coral/compiler_process.h"
#include "backend/coral/estimate.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/quantize.h"
#include "driver/targets.h"
#include "formats/edgetpu/package.h"
#include "frontend/default_sizes.h"
#include "support/file.h"
#include "writer/tflite/tflite.h"

namespace ec {
namespace {

coral::Rules rules_of(const CompileOptions& options) {
  coral::Rules rules;
  if (options.edgetpu_runtime != 0) rules.runtime = options.edgetpu_runtime;
  if (options.edgetpu_rules == "published") rules.evidence = coral::Evidence::Published;
  return rules;
}

OpPlacement row_of(const coral::PlacedOperator& op) {
  OpPlacement row;
  row.name = op.node;
  row.source_op = op.op;
  row.placement = op.mapped() ? Placement::Native : Placement::Host;
  row.status = coral::status_text(op.verdict.status);
  row.reason = op.mapped() ? op.verdict.note : op.verdict.reason;
  row.fix = op.verdict.fix;
  return row;
}

DeviceEstimate device_estimate(const coral::Estimate& e) {
  return {e.parameter_bytes, e.on_chip_bytes, e.streamed_bytes, e.device_macs,
          e.cpu_macs,        e.latency_ms,    e.latency_low_ms, e.latency_high_ms};
}

DeviceCompilerReport compiler_report(const coral::CompilerLog& log, const coral::LoggedModel& model,
                                     const coral::Partition& predicted) {
  DeviceCompilerReport report;
  report.program = "edgetpu_compiler";
  report.version = log.version;
  report.on_chip_bytes = model.on_chip_bytes;
  report.on_chip_free_bytes = model.on_chip_free_bytes;
  report.streamed_bytes = model.streamed_bytes;
  report.subgraphs = model.subgraphs;
  report.operations = model.operations;
  for (const coral::LoggedRow& row : model.rows)
    report.rows.push_back({row.op, row.status, row.count});
  for (const coral::Difference& d : coral::compare(predicted, model))
    report.differences.push_back({d.op, d.status, d.predicted, d.compiled});
  return report;
}

// Names within one folder.
std::vector<coral::CompilerInput> compiler_inputs(std::span<const CoralFile> files) {
  std::vector<coral::CompilerInput> inputs;
  for (const CoralFile& file : files) {
    std::string name = file.name;
    for (int i = 2; std::ranges::find(inputs, name, &coral::CompilerInput::name) != inputs.end();
         ++i)
      name = file.name + "_" + std::to_string(i);
    inputs.push_back({std::move(name), file.bytes});
  }
  return inputs;
}

}  // namespace

Result<std::vector<Blob>> place_on_coral(std::span<const CoralFile> files, ParameterMemory memory,
                                         const CompileOptions& options, DiagnosticSink& sink) {
  const coral::Rules rules = rules_of(options);
  std::vector<coral::Partition> placed;
  int64_t free_bytes = coral::kParameterMemory;
  for (const CoralFile& file : files) {
    EC_TRY(const tflite::ModelFile model, tflite::ModelFile::open(file.bytes, sink));
    placed.push_back(coral::partition(model, rules));
    for (const coral::PlacedOperator& op : placed.back().operators) file.report->add(row_of(op));
    file.report->cut_by = placed.back().cut_by;
    const coral::Estimate estimate = coral::estimate(placed.back(), free_bytes);
    file.report->estimate = device_estimate(estimate);
    if (memory == ParameterMemory::Shared) free_bytes -= estimate.on_chip_bytes;
  }
  if (!options.edgetpu_compiler) return std::vector<Blob>{};
  EC_TRY(coral::CompiledByGoogle compiled,
         coral::run_edgetpu_compiler(compiler_inputs(files), rules.runtime));
  for (size_t i = 0; i < files.size(); ++i)
    files[i].report->compiler = compiler_report(compiled.log, compiled.log.models[i], placed[i]);
  return std::move(compiled.files);
}

namespace {

Status place(const Blob& file, const std::filesystem::path& path, const CompileOptions& options,
             CheckReport& report, DiagnosticSink& sink) {
  const CoralFile files[] = {{path.stem().string(), file, &report}};
  EC_TRY([[maybe_unused]] const std::vector<Blob> compiled,
         place_on_coral(files, ParameterMemory::Shared, options, sink));
  return {};
}

}  // namespace

std::vector<std::string> coral_rewrites(const PipelineReport& passes) {
  const PassRun* run = passes.find("legalise-coral");
  return run != nullptr ? run->stats.notes : std::vector<std::string>{};
}

Result<bool> is_edgetpu_code(const std::filesystem::path& path, DiagnosticSink& sink) {
  EC_TRY(const Blob file, map_file(path));
  if (!tflite::ModelFile::looks_like(file.bytes())) return false;
  Result<tflite::ModelFile> model = tflite::ModelFile::open(file, sink);
  if (!model) return std::move(model).error().file(path.string());
  const auto* codes = model->model().operator_codes();
  for (uint32_t i = 0; i < tflite::size_of(codes); ++i)
    if (tflite::operator_name(*codes->Get(i)) == edgetpu::kCustomOpName) return true;
  return false;
}

Status refuse_edgetpu_code(const std::filesystem::path& path, DiagnosticSink& sink) {
  EC_TRY(const bool is_code, is_edgetpu_code(path, sink));
  if (!is_code) return {};
  return Error(Code::NotOnTarget, "the file is Edge TPU code already")
      .file(path.string())
      .hint(
          "give the .tflite file that it was compiled from; `edgecompile inspect` shows what this "
          "one holds");
}

Status check_coral(const std::filesystem::path& path, const CompileOptions& given,
                   CheckReport& report, DiagnosticSink& sink) {
  EC_CHECK_OK(refuse_edgetpu_code(path, sink));
  EC_TRY(const Blob source, map_file(path));
  if (tflite::ModelFile::looks_like(source.bytes()))
    return place(source, path, given, report, sink);
  // What the Edge TPU compiler would see of any other model.
  EC_TRY(const TargetInfo* target, find_target("coral"));
  EC_TRY(LoadedModel model, load_model(path, given, sink));
  EC_CHECK_OK(bind_default_sizes(*model.graph, {}, sink));
  const ImportedModel imported = remember_import(*model.graph);
  const CompileOptions options = with_strategy_of_model(given, imported, target->name);
  EC_CHECK_OK(prepare_import(*model.graph, options));
  EC_TRY(const PipelineReport passes,
         optimize(*model.graph, options, target_pipeline(*target, options), sink));
  report.rewrites = coral_rewrites(passes);
  if (wants_quantization(options)) {
    EC_TRY([[maybe_unused]] const quantize::QuantizeReport quantized,
           quantize_graph(model.graph, imported, options, target->name, sink));
  }
  TfliteWriteOptions write;
  write.fuse_pool_activations = false;
  EC_TRY(const Blob written, encode_tflite(*model.graph, write, sink));
  return place(written, path, options, report, sink);
}

}  // namespace ec
