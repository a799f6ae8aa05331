// Source text to syntax tree.
#pragma once

#include <string>
#include <string_view>

#include "frontend/torch/script/ast.h"
#include "support/result.h"

namespace ec::torch::script {

// Errors: CorruptFile, with the record and line.
Result<SourceFile> parse_source(std::string record, std::string_view source);

}  // namespace ec::torch::script
