#include <nlohmann/json.hpp>

#include "driver/compile.h"

namespace ec {

std::string compile_json(const CompileReport& report) {
  using Json = nlohmann::ordered_json;
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
  json["load_milliseconds"] = report.load_ms;
  json["pass_milliseconds"] = report.passes.milliseconds;
  json["save_milliseconds"] = report.save_ms;
  json["passes"] = std::move(passes);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
