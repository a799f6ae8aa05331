#include "backend/coral/place.h"

#include <algorithm>

#include "backend/coral/compiler_process.h"
#include "backend/coral/estimate.h"
#include "formats/tflite/model_file.h"

namespace ec::coral {
namespace {

OpPlacement row_of(const PlacedOperator& op) {
  OpPlacement row;
  row.name = op.node;
  row.source_op = op.op;
  row.placement = op.mapped() ? Placement::Native : Placement::Host;
  row.status = status_text(op.verdict.status);
  row.reason = op.mapped() ? op.verdict.note : op.verdict.reason;
  row.fix = op.verdict.fix;
  return row;
}

DeviceEstimate device_estimate(const Estimate& e) {
  return {e.parameter_bytes, e.on_chip_bytes,  e.streamed_bytes,  e.device_macs, e.cpu_macs,
          e.latency_ms,      e.latency_low_ms, e.latency_high_ms, "over USB 3"};
}

DeviceCompilerReport compiler_report(const CompilerLog& log, const LoggedModel& model,
                                     const Partition& predicted) {
  DeviceCompilerReport report;
  report.program = "edgetpu_compiler";
  report.version = log.version;
  report.on_chip_bytes = model.on_chip_bytes;
  report.on_chip_free_bytes = model.on_chip_free_bytes;
  report.streamed_bytes = model.streamed_bytes;
  report.subgraphs = model.subgraphs;
  report.operations = model.operations;
  for (const LoggedRow& row : model.rows)
    report.rows.push_back(
        {row.op, row.status, row.count, row.status == status_text(Status::Mapped)});
  for (const Difference& d : compare(predicted, model))
    report.differences.push_back({d.op, d.status, d.predicted, d.compiled});
  return report;
}

// Names within one folder.
std::vector<CompilerInput> compiler_inputs(std::span<const CandidateFile> files) {
  std::vector<CompilerInput> inputs;
  for (const CandidateFile& file : files) {
    std::string name = file.name;
    for (int i = 2; std::ranges::find(inputs, name, &CompilerInput::name) != inputs.end(); ++i)
      name = file.name + "_" + std::to_string(i);
    inputs.push_back({std::move(name), file.bytes});
  }
  return inputs;
}

}  // namespace

Result<std::vector<Blob>> place_files(std::span<const CandidateFile> files, ParameterMemory memory,
                                      const TargetOptions& options, DiagnosticSink& sink) {
  std::vector<Partition> placed;
  int64_t free_bytes = kParameterMemory;
  for (const CandidateFile& file : files) {
    EC_TRY(const tflite::ModelFile model, tflite::ModelFile::open(file.bytes, sink));
    placed.push_back(coral::partition(model, options.rules, file.sources));
    for (const PlacedOperator& op : placed.back().operators) file.report->add(row_of(op));
    file.report->cut_by = placed.back().cut_by;
    const Estimate estimate = coral::estimate(placed.back(), free_bytes);
    file.report->estimate = device_estimate(estimate);
    if (memory == ParameterMemory::Shared) free_bytes -= estimate.on_chip_bytes;
  }
  if (!options.run_compiler) return std::vector<Blob>{};
  EC_TRY(CompiledByGoogle compiled,
         run_edgetpu_compiler(compiler_inputs(files), options.rules.runtime));
  for (size_t i = 0; i < files.size(); ++i)
    files[i].report->compiler = compiler_report(compiled.log, compiled.log.models[i], placed[i]);
  return std::move(compiled.files);
}

}  // namespace ec::coral
