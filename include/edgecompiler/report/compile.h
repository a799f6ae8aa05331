// What `compile`, `optimize` and `quantize` tell of a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgecompiler/report/model.h"
#include "edgecompiler/report/placement.h"
#include "edgecompiler/report/quantization.h"

namespace ec {

// One pass of the pipeline; a pass in a group is listed once with the sum of its runs.
struct PassReport {
  std::string name;
  int64_t runs = 0;
  int64_t changes = 0;  // rewrites made
  double milliseconds = 0;
  std::vector<std::pair<std::string, int64_t>> counters;  // what the changes were
  std::vector<std::string> notes;
};

// One entry of the timeline.
struct PhaseTime {
  std::string phase;
  double milliseconds = 0;
};

// The proof that a written file means what the graph means.
struct SelfCheck {
  bool ran = false;
  std::string reason;               // why not, when it did not run
  double largest_error = 0;         // between floats, relative to the largest value of the output
  std::vector<std::string> shapes;  // of the inputs with open sizes, one entry for each run
};

// A written file.
struct Artifact {
  std::filesystem::path path;
  int64_t bytes = 0;
  std::string sha256;
};

// One file of a model that is cut for a pipeline of devices.
struct SegmentReport {
  std::filesystem::path output;
  int64_t output_bytes = 0;
  std::string output_sha256;
  PlacementReport placement;
};

// A value that the job worked with.
struct OptionReport {
  std::string name;
  std::string value;   // as written on the command line
  std::string source;  // "default", "file", "caller"
};

// What the written files were made from.
struct Provenance {
  std::string compiler;        // "edgecompiler 0.1.0"
  std::string options_sha256;  // of the options that decide the files' content
  std::string source_sha256;   // of the model; empty for a graph in memory
};

struct CompileReport {
  std::string model, target;  // target is empty for optimize
  ModelSummary before, after;
  std::filesystem::path output;  // empty: nothing was written
  int64_t output_bytes = 0;
  std::string output_sha256;
  std::vector<Artifact> artifacts;  // every written file
  std::optional<Provenance> provenance;
  std::optional<QuantizationReport> quantization;

  // Operators of the written file's format by name, most frequent first.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0;
  std::optional<SelfCheck> self_check;  // of `compile`
  std::optional<PlacementReport> placement;
  std::vector<SegmentReport> segments;  // the first is also `output`

  std::vector<PassReport> passes;  // in pipeline order
  double pass_milliseconds = 0;
  std::vector<PhaseTime> phases;  // that ran, in order
  std::string stopped_after;      // phase or pass that --stop-after named
  std::vector<OptionReport> options;

  double milliseconds(std::string_view phase) const;
};

}  // namespace ec
