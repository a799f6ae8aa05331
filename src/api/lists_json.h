// What the tables of this build hold, as JSON: for the command line's lists and for Python.
#pragma once

#include <string>

#include "driver/registry.h"

namespace ec {

// {"targets": [...]}: back ends with files, variants and options, and those that are absent.
std::string targets_json(const Registry& registry);
// {"passes": [...], "pipelines": [...], "strategies": [...]}.
std::string passes_json(const Registry& registry);
// {"codes": [...]}, and one of them.
std::string codes_json();
std::string code_json(const CodeInfo& info);

}  // namespace ec
