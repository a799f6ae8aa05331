// The work of `compile` and `optimize`: model file in, rewritten model file out, with a report.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/check.h"
#include "driver/self_check.h"
#include "driver/summary.h"
#include "edgecompiler/options.h"
#include "passes/manager.h"
#include "quantize/strategy/strategy.h"
#include "support/result.h"

namespace ec {

// One file of a model that is cut for a pipeline of devices.
struct SegmentReport {
  std::filesystem::path output;
  int64_t output_bytes = 0;
  std::string output_sha256;
  CheckReport placement;
};

struct CompileReport {
  std::string model, target;  // target is empty for optimize
  ModelSummary before, after;
  PipelineReport passes;
  std::filesystem::path output;  // empty: nothing was written
  int64_t output_bytes = 0;
  double load_ms = 0, save_ms = 0;
  std::optional<quantize::QuantizeReport> quantization;

  // Of targets that write another format's operators: by name, most frequent first.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0;
  std::string output_sha256;
  SelfCheck self_check;
  std::optional<CheckReport> placement;  // of targets that are a device
  std::vector<SegmentReport> segments;   // the first is also `output`
};

// Writes the file of the target: options.output, or NAME_TARGET.EXT beside the model. Several
// models are compiled together where the target can: they share its device, and all files are
// written or none.
Result<std::vector<CompileReport>> compile_models(std::span<const std::string> models,
                                                  const CompileOptions& options,
                                                  DiagnosticSink& sink);
Result<CompileReport> compile_model(const std::filesystem::path& model,
                                    const CompileOptions& options, DiagnosticSink& sink);
// Writes the optimised graph to options.output (.onnx or .ecir); without it nothing is written.
Result<CompileReport> optimize_model(const std::filesystem::path& model,
                                     const CompileOptions& options, DiagnosticSink& sink);
// Writes the quantised graph to options.output (.ecir: integers; .onnx: quantize-dequantize pairs
// under the model's own interface); without it nothing is written. Without a
// target that has integers the rules are those of TFLite.
Result<CompileReport> quantize_model(const std::filesystem::path& model,
                                     const CompileOptions& options, DiagnosticSink& sink);
std::string compile_json(const CompileReport& report);
// {"models": [...]} with one entry per model.
std::string compile_json(std::span<const CompileReport> reports);

}  // namespace ec
