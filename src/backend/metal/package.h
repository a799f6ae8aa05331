// Packages as files: the model, its weights and the manifest.
#pragma once

#include <filesystem>

#include "backend/backend.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

// The files of a package at `directory`; the same program gives the same bytes.
std::vector<ArtifactFile> package_files(CoremlProgram program,
                                        const std::filesystem::path& directory);

}  // namespace ec::metal
