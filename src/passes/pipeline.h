// Pipelines as text: passes in order, with options, and groups that run until nothing changes.
//
//   fold-constants,fuse-conv-bn,layout{to=nhwc}
//   canonicalise,fixpoint(fold-constants,eliminate-dead-code)
//
//   pipeline := item (',' item)*
//   item     := name options? | 'fixpoint' '(' pipeline ')'
//   options  := '{' key '=' value (',' key '=' value)* '}'
// A name may also be that of a named pipeline, which stands for its items.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace ec {

struct PipelineItem {
  std::string name;                 // of the pass; a group's name
  std::vector<PassOption> options;  // as given
  std::vector<PipelineItem> group;  // not empty: run these until nothing changes
  bool operator==(const PipelineItem&) const = default;
};

std::string pipeline_text(std::span<const PipelineItem> items);

// A pipeline known by name.
struct NamedPipeline {
  std::string_view name;
  std::string_view summary;
  std::string_view text;
  bool fixpoint = false;  // the items form one group
};
// The pipelines of pipelines.cpp.
std::span<const NamedPipeline> built_in_pipelines();

}  // namespace ec
