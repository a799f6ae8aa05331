// Files of a model that is a directory, opened to be read in parts.
#pragma once

#include <filesystem>

#include "frontend/model_source.h"
#include "support/input_file.h"

namespace ec {

// The path must stay inside the directory; links that lead outside are refused.
Result<InputFile> open_member(const ModelSource& source, const std::filesystem::path& relative);

}  // namespace ec
