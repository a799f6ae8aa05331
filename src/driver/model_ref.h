// A model as the user names it: a path, or bytes that are in memory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "support/blob.h"

namespace ec {

struct ModelRef {
  std::string name;           // the path; for bytes the name that messages and outputs use
  std::optional<Blob> bytes;  // the model itself; empty: read from the path

  ModelRef(std::string path) : name(std::move(path)) {}                   // NOLINT: implicit
  ModelRef(const char* path) : name(path) {}                              // NOLINT
  ModelRef(const std::filesystem::path& path) : name(path.string()) {}    // NOLINT
  ModelRef(std::string called, Blob content) : name(std::move(called)), bytes(std::move(content)) {}
};

}  // namespace ec
