// What `compile`, `optimize` and `quantize` tell of a model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options/catalog.h"
#include "passes/manager.h"
#include "quantize/strategy/strategy.h"
#include "report/placement.h"
#include "report/summary.h"

namespace ec {

// The proof that a written file means what the graph means.
struct SelfCheck {
  bool ran = false;
  std::string reason;        // why not, when it did not run
  double largest_error = 0;  // between floats, relative to the largest value of the output
};

// One file of a model that is cut for a pipeline of devices.
struct SegmentReport {
  std::filesystem::path output;
  int64_t output_bytes = 0;
  std::string output_sha256;
  PlacementReport placement;
};

struct PhaseTime {
  std::string_view phase;
  double milliseconds = 0;
};

struct CompileReport {
  std::string model, target;  // target is empty for optimize
  ModelSummary before, after;
  PipelineReport passes;
  std::filesystem::path output;  // empty: nothing was written
  int64_t output_bytes = 0;
  std::string output_sha256;
  std::optional<quantize::QuantizeReport> quantization;

  // Operators of the written file's format by name, most frequent first.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0;
  SelfCheck self_check;
  std::optional<PlacementReport> placement;
  std::vector<SegmentReport> segments;  // the first is also `output`

  std::vector<PhaseTime> phases;  // that ran, in order
  std::string stopped_after;      // phase or pass that --stop-after named
  std::vector<OptionReportRow> options;

  double milliseconds(std::string_view phase) const;
};

std::string compile_json(const CompileReport& report);
// {"models": [...]} with one entry per model.
std::string compile_json(std::span<const CompileReport> reports);

}  // namespace ec
