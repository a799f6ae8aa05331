// The files that --report names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ec {

// "json=FILE" each, which can be written. Checked before a job runs, as its files come first.
Status check_report_files(const std::vector<std::string>& reports);
// Writes the report of a job, a JSON object, to each file: whole or not at all.
Status write_report_files(const std::vector<std::string>& reports, std::string_view json);

}  // namespace ec
