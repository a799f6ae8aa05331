#include <nlohmann/json.hpp>

#include "driver/check.h"

namespace ec {

std::string check_json(const CheckReport& report) {
  using Json = nlohmann::ordered_json;
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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
