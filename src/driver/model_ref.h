// A model as the user names it: a path, bytes in memory, or a graph.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ir/graph.h"
#include "support/blob.h"

namespace ec {

struct ModelRef {
  std::string name;                    // the path; else the name that messages and outputs use
  std::optional<Blob> bytes;           // the file's content, where it is in memory
  std::shared_ptr<const Graph> graph;  // the model itself, where it is a graph already

  ModelRef(std::string path) : name(std::move(path)) {}                 // NOLINT: implicit
  ModelRef(const char* path) : name(path) {}                            // NOLINT
  ModelRef(const std::filesystem::path& path) : name(path.string()) {}  // NOLINT
  ModelRef(std::string called, Blob content) : name(std::move(called)), bytes(std::move(content)) {}
  ModelRef(std::string called, std::shared_ptr<const Graph> model)
      : name(std::move(called)), graph(std::move(model)) {}
};

}  // namespace ec
