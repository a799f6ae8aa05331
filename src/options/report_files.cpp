#include "options/report_files.h"

#include <fmt/format.h>

#include "support/file.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr std::string_view kJson = "json=";

Result<std::string> json_path(const std::string& report) {
  if (report.starts_with(kJson) && report.size() > kJson.size()) return report.substr(kJson.size());
  return Error(Code::Usage, fmt::format("--report needs json=FILE, not '{}'", printable(report)))
      .hint("write --report json=report.json");
}

}  // namespace

Status check_report_files(const std::vector<std::string>& reports) {
  for (const std::string& report : reports) {
    EC_TRY(const std::string path, json_path(report));
    // The job's own files are in place when its report is written: what can be told is told before.
    EC_CHECK_OK(AtomicFile::create(path));
  }
  return {};
}

Status write_report_files(const std::vector<std::string>& reports, std::string_view json) {
  for (const std::string& report : reports) {
    EC_TRY(const std::string path, json_path(report));
    EC_CHECK_OK(write_file(path, std::string(json) + "\n"));
  }
  return {};
}

}  // namespace ec
