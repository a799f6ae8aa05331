// The one ordered list of passes. Each constraint on the order is stated where it binds.
#include "passes/pipeline.h"

namespace ec {
namespace {

// Cleanup that every other pass may leave work for; runs until nothing changes.
constexpr std::string_view kCanonicalise =
    // Types first: everything after reads shapes, and folding makes more of them known.
    "infer-shapes,"
    // Shape arithmetic before constants, so that a target shape with one open size becomes a
    // constant and the arithmetic behind it dies.
    "fold-shapes,"
    "fold-constants,"
    // After folding, which makes equal constants.
    "common-subexpressions,"
    // Last: collects what the others left unread.
    "eliminate-dead-code";

constexpr NamedPipeline kPipelines[] = {
    {"none", "Nothing: the graph as imported.", ""},
    {"canonicalise", "The clean-up group, run until nothing changes.", kCanonicalise, true},
    {"optimize", "The target-independent optimised graph.", "canonicalise"},
    {"runtime", "What the CPU session executes.", "optimize"},
};

}  // namespace

std::span<const NamedPipeline> all_pipelines() { return kPipelines; }

const NamedPipeline* find_pipeline(std::string_view name) {
  for (const NamedPipeline& pipeline : kPipelines)
    if (pipeline.name == name) return &pipeline;
  return nullptr;
}

}  // namespace ec
