// A model as its front end gave it, before a target had a say. `check` of several targets reads the
// file once and starts each target from here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/kept_operations.h"
#include "frontend/model_source.h"
#include "ir/graph.h"
#include "support/diagnostic.h"

namespace ec {

struct ImportedModel {
  std::optional<ModelSource> source;
  std::string format;
  std::shared_ptr<const Graph> graph;  // null: not read yet
  std::vector<Diagnostic> diagnostics;
  std::vector<KeptOperation> kept;
};

}  // namespace ec
