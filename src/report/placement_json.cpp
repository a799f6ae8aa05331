#include <nlohmann/json.hpp>

#include "report/placement.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

Json compiler_json(const DeviceCompilerReport& report) {
  Json rows = Json::array(), differences = Json::array();
  for (const DeviceCompilerReport::Row& row : report.rows)
    rows.push_back({{"op", row.op}, {"count", row.count}, {"status", row.status}});
  for (const DeviceCompilerReport::Difference& d : report.differences)
    differences.push_back(
        {{"op", d.op}, {"status", d.status}, {"predicted", d.predicted}, {"compiled", d.compiled}});
  return {{"program", report.program},
          {"version", report.version},
          {"on_chip_bytes", report.on_chip_bytes},
          {"on_chip_free_bytes", report.on_chip_free_bytes},
          {"streamed_bytes", report.streamed_bytes},
          {"subgraphs", report.subgraphs},
          {"num_operations", report.operations},
          {"operations", std::move(rows)},
          {"differences", std::move(differences)}};
}

}  // namespace

std::string placement_json(const PlacementReport& report) {
  Json rows = Json::array();
  for (const OpPlacement& row : report.operations)
    rows.push_back({{"name", row.name},
                    {"op", row.op},
                    {"source_op", row.source_op},
                    {"output", row.output_type},
                    {"placement", placement_name(row.placement)},
                    {"status", row.status},
                    {"reason", row.reason},
                    {"fix", row.fix}});
  Json json = {{"model", report.model},
               {"target", report.target},
               {"runs", report.unsupported == 0},
               {"native", report.native},
               {"reference", report.reference},
               {"host", report.host},
               {"unsupported", report.unsupported},
               {"shapes_open", report.shapes_open},
               {"operations", std::move(rows)}};
  if (report.cut_by) json["cut_by"] = *report.cut_by;
  if (report.estimate) {
    const DeviceEstimate& e = *report.estimate;
    json["estimate"] = {{"certainty", "estimated"},
                        {"parameter_bytes", e.parameter_bytes},
                        {"on_chip_bytes", e.on_chip_bytes},
                        {"streamed_bytes", e.streamed_bytes},
                        {"device_macs", e.device_macs},
                        {"host_macs", e.host_macs},
                        {"latency_ms", e.latency_ms},
                        {"latency_low_ms", e.latency_low_ms},
                        {"latency_high_ms", e.latency_high_ms}};
  }
  if (!report.rewrites.empty()) json["rewrites"] = report.rewrites;
  if (report.compiler) json["compiler"] = compiler_json(*report.compiler);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
