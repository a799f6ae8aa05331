// Graph to file, in the format that the extension names.
#pragma once

#include <filesystem>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

Status save_model(const Graph& graph, const std::filesystem::path& path);

}  // namespace ec
