// The JSON object that --json prints around a verb's result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace ec::cli {

// `result` is the text of a JSON value, or empty.
std::string json_envelope(std::string_view command, int exit_code,
                          const std::vector<Diagnostic>& diagnostics, std::string_view result);

// {"key": "text"}.
std::string json_text_object(std::string_view key, std::string_view text);

}  // namespace ec::cli
