#include "driver/coral.h"

#include "backend/coral/estimate.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/quantize.h"
#include "driver/targets.h"
#include "support/file.h"
#include "writer/tflite/tflite.h"

namespace ec {
namespace {

coral::Rules rules_of(const CompileOptions& options) {
  coral::Rules rules;
  rules.runtime = options.edgetpu_runtime;
  rules.evidence =
      options.edgetpu_rules == "published" ? coral::Evidence::Published : coral::Evidence::Fitted;
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

}  // namespace

Status place_on_coral(const Blob& file, const CompileOptions& options, CheckReport& report,
                      DiagnosticSink& sink) {
  EC_TRY(const tflite::ModelFile model, tflite::ModelFile::open(file, sink));
  const coral::Partition placed = coral::partition(model, rules_of(options));
  for (const coral::PlacedOperator& op : placed.operators) report.add(row_of(op));
  report.cut_by = placed.cut_by;
  report.estimate = device_estimate(coral::estimate(placed));
  return {};
}

Status check_coral(const std::filesystem::path& path, const CompileOptions& given,
                   CheckReport& report, DiagnosticSink& sink) {
  EC_TRY(const Blob file, map_file(path));
  if (tflite::ModelFile::looks_like(file.bytes()))
    return place_on_coral(file, given, report, sink);
  // What the compiler would see of any other model.
  EC_TRY(const TargetInfo* target, find_target("coral"));
  EC_TRY(LoadedModel model, load_model(path, given, sink));
  const ImportedModel imported = remember_import(*model.graph);
  const CompileOptions options = with_strategy_of_model(given, imported, target->name);
  EC_CHECK_OK(prepare_import(*model.graph, options));
  EC_TRY([[maybe_unused]] const PipelineReport passes,
         optimize(*model.graph, options, target_pipeline(*target, options), sink));
  if (wants_quantization(options)) {
    EC_TRY([[maybe_unused]] const quantize::QuantizeReport quantized,
           quantize_graph(model.graph, imported, options, target->name, sink));
  }
  EC_TRY(const Blob written, encode_tflite(*model.graph, {}, sink));
  return place_on_coral(written, options, report, sink);
}

}  // namespace ec
