// emit: the files as bytes.
#include "driver/graph_files.h"
#include "driver/phases.h"
#include "support/sha256.h"

namespace ec {
namespace {

int64_t size_of(const ArtifactFile& file) {
  int64_t size = 0;
  for (const Blob& part : file.parts) size += static_cast<int64_t>(part.size());
  return size;
}

std::string hash_of(const ArtifactFile& file) {
  Sha256 hash;
  for (const Blob& part : file.parts) hash.add(part.bytes());
  return std::move(hash).hex();
}

// What the report tells of the files, before they are written.
void describe_files(CompiledModel& model) {
  const EmittedModel& emitted = *model.emitted;
  CompileReport& report = model.report;
  report.operators = emitted.operators;
  report.num_operators = emitted.num_operators;
  report.output = emitted.directory.empty() ? emitted.files.front().path : emitted.directory;
  report.output_bytes = 0;
  for (const ArtifactFile& file : emitted.files)
    report.artifacts.push_back({file.path, size_of(file), hash_of(file)});
  report.output_sha256 = report.artifacts.front().sha256;
  if (model.placed && !model.placed->segments.empty()) {
    for (size_t i = 0; i < emitted.files.size(); ++i)
      report.segments.push_back({report.artifacts[i].path, report.artifacts[i].bytes,
                                 report.artifacts[i].sha256, model.placed->segments[i]});
    report.output_bytes = report.artifacts.front().bytes;
    return;
  }
  for (const Artifact& file : report.artifacts) report.output_bytes += file.bytes;
  for (const ArtifactFile& file : emitted.beside)
    report.artifacts.push_back({file.path, size_of(file), hash_of(file)});
}

Status emit_target_files(Compilation& c) {
  std::vector<ModelJob> jobs;
  std::vector<PlacedModel> placed;
  for (CompiledModel& model : c.models()) {
    jobs.push_back(model.job(c));
    placed.push_back(*model.placed);
  }
  EC_TRY(std::vector<EmittedModel> emitted, c.target()->emit(jobs, placed, c.sink()));
  for (size_t i = 0; i < emitted.size(); ++i) {
    std::map<std::string, std::string>& from = jobs[i].provenance;
    c.models()[i].report.provenance =
        Provenance{from["compiler"], from["options_sha256"], from["source_sha256"]};
    c.models()[i].emitted = std::move(emitted[i]);
  }
  return {};
}

}  // namespace

Status emit(Compilation& compilation) {
  if (compilation.verb() == Verb::Compile) {
    EC_CHECK_OK(emit_target_files(compilation));
  } else {
    CompiledModel& model = compilation.models().front();
    if (model.report.output.empty()) return {};
    EC_TRY(const GraphFormat* format, find_graph_format(model.report.output));
    model.emitted.emplace();
    EC_TRY(model.emitted->files, format->encode(*model.graph, model.report.output));
  }
  for (CompiledModel& model : compilation.models()) describe_files(model);
  return {};
}

}  // namespace ec
