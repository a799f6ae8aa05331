// Graph to file, in the format that the extension names.
#pragma once

#include <filesystem>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// Whether the extension names a format that can be written; the error lists them.
Status check_output_format(const std::filesystem::path& path);
Status save_model(const Graph& graph, const std::filesystem::path& path);

}  // namespace ec
