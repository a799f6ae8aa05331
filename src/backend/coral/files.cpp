#include "driver/coral_output.h"

#include <fmt/format.h>

#include "driver/coral.h"
#include "driver/segments.h"
#include "driver/tflite_output.h"
#include "support/sha256.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

CheckReport empty_placement(const CompileReport& report) {
  CheckReport placement;
  placement.model = report.model;
  placement.target = report.target;
  return placement;
}

// NAME.tflite gives NAME_segment_0_of_2.tflite; Edge TPU code says so at the end of its name.
fs::path segment_path(const fs::path& output, size_t i, size_t count) {
  constexpr std::string_view kCode = "_edgetpu";
  std::string stem = output.stem().string();
  const bool is_code = stem.ends_with(kCode);
  if (is_code) stem.resize(stem.size() - kCode.size());
  return output.parent_path() / fmt::format("{}_segment_{}_of_{}{}.tflite", stem, i, count,
                                            is_code ? kCode : std::string_view{});
}

// What is drafted for one model: a file, or its segments.
struct Drafts {
  const CoralJob* job = nullptr;
  std::vector<OutputDraft> files;
};

Result<Drafts> draft_whole(const CoralJob& job, const Blob& bytes) {
  Drafts drafts{&job, {}};
  EC_TRY(OutputDraft draft, draft_output(job.report->output, bytes));
  drafts.files.push_back(std::move(draft));
  return drafts;
}

Result<Drafts> draft_segments(const CoralJob& job, const Blob& whole, const CompileOptions& options,
                              DiagnosticSink& sink) {
  // Where the device's part of the whole is decides where it can be cut.
  CompileOptions predict_only = options;
  predict_only.edgetpu_compiler = false;
  const CoralFile file{job.model.stem().string(), whole, &*job.report->placement};
  EC_TRY([[maybe_unused]] const std::vector<Blob> none,
         place_on_coral({&file, 1}, ParameterMemory::Shared, predict_only, sink));
  std::unordered_set<std::string> on_device;
  for (const OpPlacement& row : job.report->placement->operations)
    if (row.placement == Placement::Native) on_device.insert(row.name);
  const auto count = static_cast<size_t>(options.segments);
  Result<std::vector<std::unique_ptr<Graph>>> pieces =
      cut_into_segments(*job.graph, count, on_device);
  if (!pieces) return std::move(pieces).error().file(job.model.string());
  Drafts drafts{&job, {}};
  for (size_t i = 0; i < pieces->size(); ++i) {
    const fs::path output = segment_path(job.report->output, i, count);
    EC_TRY(const Blob bytes, encode_output(*(*pieces)[i], job.model, options, sink));
    EC_TRY(OutputDraft draft, draft_output(output, bytes));
    drafts.files.push_back(std::move(draft));
    SegmentReport segment;
    segment.output = output;
    segment.placement = empty_placement(*job.report);
    job.report->segments.push_back(std::move(segment));
  }
  job.report->output = drafts.files.front().output;
  return drafts;
}

Result<Drafts> draft(const CoralJob& job, const CompileOptions& options, DiagnosticSink& sink) {
  CompileReport& report = *job.report;
  TfliteSummary summary;
  EC_TRY(const Blob bytes, encode_output(*job.graph, job.model, options, sink, &summary));
  report.operators = std::move(summary.operators);
  report.num_operators = summary.num_operators;
  report.placement = empty_placement(report);
  report.placement->rewrites = coral_rewrites(report.passes);
  EC_TRY(Drafts drafts, options.segments == 0 ? draft_whole(job, bytes)
                                              : draft_segments(job, bytes, options, sink));
  EC_TRY(report.self_check, check_drafts(*job.graph, drafts.files));
  return drafts;
}

// The report that belongs to a file of the drafts.
CheckReport& placement_of(const Drafts& drafts, size_t i) {
  CompileReport& report = *drafts.job->report;
  return report.segments.empty() ? *report.placement : report.segments[i].placement;
}

Status refuse_host(const Drafts& drafts) {
  for (size_t i = 0; i < drafts.files.size(); ++i)
    EC_CHECK_OK(refuse_host_operations(placement_of(drafts, i)));
  return {};
}

void finish_reports(const Drafts& drafts) {
  CompileReport& report = *drafts.job->report;
  report.output_sha256 = sha256_hex(drafts.files.front().bytes.bytes());
  for (size_t i = 0; i < report.segments.size(); ++i) {
    const Blob& bytes = drafts.files[i].bytes;
    report.segments[i].output_bytes = static_cast<int64_t>(bytes.size());
    report.segments[i].output_sha256 = sha256_hex(bytes.bytes());
  }
}

}  // namespace

Status write_coral_outputs(std::span<const CoralJob> jobs, const CompileOptions& options,
                           DiagnosticSink& sink) {
  std::vector<Drafts> all;
  std::vector<CoralFile> files;
  for (const CoralJob& job : jobs) {
    EC_TRY(Drafts drafts, draft(job, options, sink));
    all.push_back(std::move(drafts));
    for (size_t i = 0; i < all.back().files.size(); ++i) {
      const OutputDraft& file = all.back().files[i];
      const fs::path name = options.segments == 0 ? job.model : file.output;
      files.push_back({name.stem().string(), file.bytes, &placement_of(all.back(), i)});
    }
  }
  const ParameterMemory memory =
      options.segments == 0 ? ParameterMemory::Shared : ParameterMemory::OnePerFile;
  EC_TRY(const std::vector<Blob> compiled, place_on_coral(files, memory, options, sink));
  if (options.strict)
    for (const Drafts& drafts : all) EC_CHECK_OK(refuse_host(drafts));
  std::vector<OutputDraft> outputs;
  for (Drafts& drafts : all) {
    for (OutputDraft& file : drafts.files) {
      if (compiled.empty()) continue;
      // What was checked is the compiler's input; what is kept is its code.
      EC_TRY(OutputDraft code, draft_output(file.output, compiled[outputs.size()]));
      file.bytes = code.bytes;
      outputs.push_back(std::move(code));
    }
    finish_reports(drafts);
    if (!compiled.empty()) continue;
    for (OutputDraft& file : drafts.files) outputs.push_back(std::move(file));
  }
  return commit_drafts(outputs);
}

}  // namespace ec
