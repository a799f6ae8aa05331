// Files of the `tflite` format: written beside their place, read back, run against the graph they
// were made from, and put in place when they agree, all or none.
#pragma once

#include <filesystem>

#include "driver/compile.h"
#include "ir/graph.h"
#include "support/blob.h"
#include "support/file.h"
#include "support/result.h"
#include "writer/tflite/tflite.h"

namespace ec {

// A file that stands beside its place.
struct OutputDraft {
  std::filesystem::path output;
  Blob bytes;
  AtomicFile file;
};

// The bytes of a graph's file, with where they come from.
Result<Blob> encode_output(const Graph& graph, const std::filesystem::path& model,
                           const CompileOptions& options, DiagnosticSink& sink,
                           TfliteSummary* summary = nullptr);
Result<OutputDraft> draft_output(const std::filesystem::path& output, const Blob& bytes);
// Reads the drafts back and runs them one after the other: together they compute what the graph
// computes.
Result<SelfCheck> check_drafts(const Graph& graph, std::span<const OutputDraft> drafts);
Status commit_drafts(std::span<OutputDraft> drafts);

Status write_tflite_output(const Graph& graph, const std::filesystem::path& model,
                           const CompileOptions& options, CompileReport& report,
                           DiagnosticSink& sink);

}  // namespace ec
