#include <nlohmann/json.hpp>

#include "driver/compile_report.h"
#include "report/quantize_json.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json report_json(const CompileReport& report) {
  Json passes = Json::array();
  for (const PassRun& run : report.passes.passes) {
    Json counters = Json::object();
    for (const auto& [name, count] : run.stats.counters) counters[name] = count;
    passes.push_back({{"name", run.name},
                      {"runs", run.runs},
                      {"changes", run.stats.changes},
                      {"milliseconds", run.milliseconds},
                      {"counters", std::move(counters)},
                      {"notes", run.stats.notes}});
  }
  Json json = {{"model", report.model}};
  if (!report.target.empty()) json["target"] = report.target;
  json["output"] = report.output.empty() ? Json(nullptr) : Json(report.output.string());
  json["output_bytes"] = report.output_bytes;
  json["operations_before"] = report.before.operations;
  json["operations_after"] = report.after.operations;
  json["macs_before"] = report.before.macs;
  json["macs_after"] = report.after.macs;
  json["parameter_bytes_before"] = report.before.parameter_bytes;
  json["parameter_bytes_after"] = report.after.parameter_bytes;
  const auto interface = [](const std::vector<InterfaceSummary>& before,
                            const std::vector<InterfaceSummary>& after) {
    Json list = Json::array();
    for (size_t i = 0; i < after.size(); ++i) {
      Json entry = {
          {"name", after[i].name}, {"dtype", after[i].dtype}, {"shape", dims_text(after[i])}};
      if (i < before.size()) entry["source_shape"] = dims_text(before[i]);
      list.push_back(std::move(entry));
    }
    return list;
  };
  json["inputs"] = interface(report.before.inputs, report.after.inputs);
  json["outputs"] = interface(report.before.outputs, report.after.outputs);
  Json layouts = Json::object();
  for (const auto& [key, value] : report.after.metadata)
    if (key.starts_with("layout.")) layouts[key.substr(7)] = value;
  if (!layouts.empty()) json["interface_layouts"] = std::move(layouts);
  if (!report.output_sha256.empty()) json["output_sha256"] = report.output_sha256;
  if (report.self_check.ran || !report.self_check.reason.empty())
    json["self_check"] = {{"ran", report.self_check.ran},
                          {"reason", report.self_check.reason},
                          {"largest_error", report.self_check.largest_error}};
  if (report.num_operators > 0) {
    Json operators = Json::object();
    for (const auto& [name, count] : report.operators) operators[name] = count;
    json["operators"] = std::move(operators);
    json["num_operators"] = report.num_operators;
  }
  if (report.placement) json["placement"] = Json::parse(placement_json(*report.placement));
  if (report.quantization) json["quantization"] = Json::parse(quantize_json(*report.quantization));
  json["load_milliseconds"] = report.milliseconds("import");
  json["pass_milliseconds"] = report.passes.milliseconds;
  json["save_milliseconds"] = report.milliseconds("emit") + report.milliseconds("self-check") +
                              report.milliseconds("commit");
  Json phases = Json::array();
  for (const PhaseTime& phase : report.phases)
    phases.push_back({{"name", phase.phase}, {"milliseconds", phase.milliseconds}});
  json["phases"] = std::move(phases);
  if (!report.stopped_after.empty()) json["stopped_after"] = report.stopped_after;
  Json options = Json::object();
  for (const OptionReportRow& row : report.options)
    options[std::string(row.name)] = {{"value", row.value}, {"source", row.source}};
  json["options"] = std::move(options);
  json["passes"] = std::move(passes);
  for (const SegmentReport& segment : report.segments)
    json["segments"].push_back({{"output", segment.output.string()},
                                {"output_bytes", segment.output_bytes},
                                {"output_sha256", segment.output_sha256},
                                {"placement", Json::parse(placement_json(segment.placement))}});
  return json;
}

}  // namespace

double CompileReport::milliseconds(std::string_view phase) const {
  for (const PhaseTime& time : phases)
    if (time.phase == phase) return time.milliseconds;
  return 0;
}

std::string compile_json(const CompileReport& report) { return text_of(report_json(report)); }

std::string compile_json(std::span<const CompileReport> reports) {
  Json models = Json::array();
  for (const CompileReport& report : reports) models.push_back(report_json(report));
  return text_of({{"models", std::move(models)}});
}

}  // namespace ec
