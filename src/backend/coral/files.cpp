#include "backend/coral/files.h"

#include <fmt/format.h>

#include <unordered_set>

#include "backend/coral/partition.h"
#include "backend/coral/place.h"
#include "backend/coral/segments.h"
#include "formats/tflite/model_file.h"

namespace ec::coral {
namespace {

// The device takes no pool with an activation.
Result<EncodedTflite> encode(const Graph& graph, const ModelJob& job, DiagnosticSink& sink) {
  return encode_model(graph, job, PoolActivations::Apart, sink);
}

// What the passes wrote in another form so that it runs on the device, in words.
std::vector<std::string> rewrites_of(const PipelineReport* passes) {
  const PassRun* run = passes != nullptr ? passes->find("legalise-coral") : nullptr;
  return run != nullptr ? run->stats.notes : std::vector<std::string>{};
}

// The operators on the device decide where the whole model can be cut.
ec::Status encode_segments(const ModelJob& job, const TargetOptions& options, ModelFiles& files,
                           PlacementReport& report, DiagnosticSink& sink) {
  TargetOptions predict_only = options;
  predict_only.run_compiler = false;
  const CandidateFile file{job.name, files.whole.bytes, &report, files.whole.summary.sources};
  EC_TRY([[maybe_unused]] const std::vector<Blob> none,
         place_files({&file, 1}, ParameterMemory::Shared, predict_only, sink));
  EC_TRY(const tflite::ModelFile model, tflite::ModelFile::open(files.whole.bytes, sink));
  std::unordered_set<std::string> on_device;
  for (const PlacedOperator& op : partition(model, options.rules).operators)
    if (op.mapped()) on_device.insert(op.result);
  EC_TRY(const std::vector<std::unique_ptr<Graph>> pieces,
         cut_into_segments(*job.graph, options.segments, on_device));
  for (const std::unique_ptr<Graph>& piece : pieces) {
    EC_TRY(EncodedTflite encoded, encode(*piece, job, sink));
    files.tflite.push_back(std::move(encoded.bytes));
    files.sources.push_back(std::move(encoded.summary.sources));
  }
  return {};
}

// A model with the files that are judged for it.
struct Candidate {
  PlacedModel placed;
  ModelFiles files;
};

Result<Candidate> make_candidate(const ModelJob& job, const TargetOptions& options,
                                 DiagnosticSink& sink) {
  Candidate candidate;
  EC_TRY(candidate.files.whole, encode(*job.graph, job, sink));
  candidate.placed.report.rewrites = rewrites_of(job.passes);
  if (options.segments == 0) {
    candidate.files.tflite.push_back(candidate.files.whole.bytes);
    candidate.files.sources.push_back(candidate.files.whole.summary.sources);
    return candidate;
  }
  EC_CHECK_OK(encode_segments(job, options, candidate.files, candidate.placed.report, sink));
  candidate.placed.segments.resize(candidate.files.tflite.size());
  return candidate;
}

}  // namespace

std::filesystem::path file_path(const std::filesystem::path& output, size_t index, size_t count) {
  if (count == 1) return output;
  constexpr std::string_view kCode = "_edgetpu";
  std::string stem = output.stem().string();
  const bool is_code = stem.ends_with(kCode);
  if (is_code) stem.resize(stem.size() - kCode.size());
  return output.parent_path() / fmt::format("{}_segment_{}_of_{}{}.tflite", stem, index, count,
                                            is_code ? kCode : std::string_view{});
}

Result<std::vector<PlacedModel>> place_models(std::span<const ModelJob> jobs,
                                              const TargetOptions& options, DiagnosticSink& sink) {
  std::vector<Candidate> candidates;
  for (const ModelJob& job : jobs) {
    EC_TRY(Candidate candidate, make_candidate(job, options, sink));
    candidates.push_back(std::move(candidate));
  }
  std::vector<CandidateFile> files;
  for (size_t m = 0; m < jobs.size(); ++m) {
    Candidate& candidate = candidates[m];
    const bool whole = options.segments == 0;
    for (size_t i = 0; i < candidate.files.tflite.size(); ++i)
      files.push_back(
          {whole ? jobs[m].name : file_path(jobs[m].name, i, options.segments).stem().string(),
           candidate.files.tflite[i],
           whole ? &candidate.placed.report : &candidate.placed.segments[i],
           candidate.files.sources[i]});
  }
  const ParameterMemory memory =
      options.segments == 0 ? ParameterMemory::Shared : ParameterMemory::OnePerFile;
  EC_TRY(const std::vector<Blob> code, place_files(files, memory, options, sink));
  std::vector<PlacedModel> placed;
  size_t at = 0;
  for (Candidate& candidate : candidates) {
    for (size_t i = 0; i < candidate.files.tflite.size() && !code.empty(); ++i)
      candidate.files.code.push_back(code[at++]);
    candidate.placed.state = std::make_shared<ModelFiles>(std::move(candidate.files));
    placed.push_back(std::move(candidate.placed));
  }
  return placed;
}

}  // namespace ec::coral
