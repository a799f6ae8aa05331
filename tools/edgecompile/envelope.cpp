#include "envelope.h"

#include <nlohmann/json.hpp>

#include "edgecompiler/version.h"

namespace ec::cli {

using Json = nlohmann::ordered_json;

std::string json_envelope(std::string_view command, int exit_code,
                          const std::vector<Diagnostic>& diagnostics, std::string_view result) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json item = {{"severity", severity_name(d.severity)}, {"code", code_id(d.code)}};
    if (!d.file.empty()) item["file"] = d.file;
    if (!d.node.empty()) item["node"] = d.node;
    if (!d.op_type.empty()) item["op_type"] = d.op_type;
    item["message"] = d.message;
    item["notes"] = d.notes;
    item["hint"] = d.hint;
    list.push_back(std::move(item));
  }
  Json envelope = {{"schema_version", kSchemaVersion},
                   {"version", version()},
                   {"command", command},
                   {"ok", exit_code == 0},
                   {"exit_code", exit_code},
                   {"result", nullptr},
                   {"diagnostics", std::move(list)}};
  // Texts from model files may be no UTF-8: such bytes are replaced, never a failure.
  constexpr auto kReplace = Json::error_handler_t::replace;
  if (!result.empty()) envelope["result"] = Json::parse(result, nullptr, false);
  return envelope.dump(2, ' ', false, kReplace) + "\n";
}

std::string json_text_object(std::string_view key, std::string_view text) {
  Json object;
  object[std::string(key)] = text;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec::cli
