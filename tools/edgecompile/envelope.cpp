#include "envelope.h"

#include <nlohmann/json.hpp>

#include "api/raise.h"
#include "edgecompiler/report.h"
#include "edgecompiler/version.h"

namespace ec::cli {

using Json = nlohmann::ordered_json;

std::string json_envelope(std::string_view command, int exit_code,
                          const std::vector<Diagnostic>& diagnostics, std::string_view result) {
  std::vector<Problem> problems;
  for (const Diagnostic& d : diagnostics) problems.push_back(problem_of(d));
  Json envelope = {{"schema_version", kReportSchemaVersion},
                   {"version", version()},
                   {"command", command},
                   {"ok", exit_code == 0},
                   {"exit_code", exit_code},
                   {"result", nullptr},
                   {"diagnostics", Json::parse(to_json(problems), nullptr, false)}};
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
