// The targets that `--target` knows, with what this build can do for each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "edgecompiler/options.h"
#include "support/result.h"

namespace ec {

struct TargetInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view extension;  // of its files
  bool available;              // in this build
  std::string_view pipeline = {};
};

std::span<const TargetInfo> all_targets();
// Resolves a name such as "coral", "arm:ethos-u55-128" or "auto". UnknownTarget: no such name, or
// known and not in this build; the message says which.
Result<const TargetInfo*> find_target(std::string_view name);
// Names of the targets that are in this build, or that are not: "cpu, tflite".
std::string target_names(bool available);
// Usage when an option belongs to another target, or has a value that its target does not know.
Status check_target_options(const TargetInfo& target, const CompileOptions& options);
// The passes that bring a graph into the target's form. `format`: that of the model; a model that
// is in the target's form already stays as it is, unless an option asks for something else.
std::string target_pipeline(const TargetInfo& target, const CompileOptions& options,
                            std::string_view format = {});

}  // namespace ec
