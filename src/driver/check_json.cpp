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
                    {"reason", row.reason},
                    {"fix", row.fix}});
  const Json json = {{"model", report.model},
                     {"target", report.target},
                     {"runs", report.unsupported == 0},
                     {"native", report.native},
                     {"reference", report.reference},
                     {"unsupported", report.unsupported},
                     {"shapes_open", report.shapes_open},
                     {"operations", std::move(rows)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
