// Passes and named pipelines, looked up by name. The built-in ones come from passes.def and
// pipelines.cpp; back ends and programs add their own.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "passes/pipeline.h"
#include "support/result.h"

namespace ec {

class PassRegistry {
 public:
  // Holds the built-in passes and pipelines.
  PassRegistry();
  // The built-in ones alone, for code that needs no others.
  static const PassRegistry& built_in();

  // Whoever adds keeps the object alive. A name that is taken is an error.
  Status add(const PassInfo& pass);
  Status add(const NamedPipeline& pipeline);

  // In the order of registration: the built-in ones alphabetically, then what was added.
  std::span<const PassInfo* const> passes() const { return passes_; }
  std::span<const NamedPipeline* const> pipelines() const { return pipelines_; }
  const PassInfo* find_pass(std::string_view name) const;
  const NamedPipeline* find_pipeline(std::string_view name) const;

  // Makes a pass after checking its options. Unknown names and values are errors with suggestions.
  Result<std::unique_ptr<Pass>> make_pass(std::string_view name,
                                          std::span<const PassOption> options) const;
  // Parses the text, expands named pipelines and checks names and options of passes.
  Result<std::vector<PipelineItem>> parse(std::string_view text) const;

 private:
  Status check_free(std::string_view name) const;

  std::vector<const PassInfo*> passes_;
  std::vector<const NamedPipeline*> pipelines_;
};

}  // namespace ec
