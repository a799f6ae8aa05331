// A model that is ready to run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/manager.h"
#include "runtime/session.h"

namespace ec {

struct OpenedSession {
  std::unique_ptr<Session> session;
  PipelineReport passes;
  double open_ms = 0;  // everything until ready
  std::string device = "CPU";
  std::map<std::string, std::string> metadata;      // of the model as loaded
  std::vector<std::optional<size_t>> softmax_axes;  // by output, of the model as loaded
};

}  // namespace ec
