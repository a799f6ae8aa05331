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
    // Removal before the rest: the others match what is next to each other.
    "eliminate-identities,"
    "simplify-algebra,"
    "simplify-slices,"
    // Transposes that move nothing become reshapes, which then merge.
    "simplify-transposes,"
    "simplify-reshapes,"
    // After folding, which makes equal constants.
    "common-subexpressions,"
    // Last: collects what the others left unread.
    "eliminate-dead-code";

constexpr std::string_view kOptimize =
    "canonicalise,"
    // Patterns before fusion: a constant that fusion moves into weights (the 3 of hard_sigmoid)
    // hides the pattern it belongs to.
    "recover-norms,"
    "recover-group-norm,"
    "recover-activations,"
    // One form of linear layers before anything is merged into them.
    "canonicalise-linear,"
    // Pads first: normalisation in front of a convolution is merged only where nothing is padded.
    "fuse-pads,"
    // A bias behind a convolution before the normalisation behind that, and what is left after it.
    "fuse-scale-bias,"
    "fuse-conv-bn,"
    "fuse-scale-bias,"
    "canonicalise";

constexpr std::string_view kRuntime =
    "optimize,"
    // The kernels compute in NHWC; transposes meet and cancel before activations are fused, so that
    // none stands between a weighted sum and its activation.
    "layout{to=nhwc},"
    // After all fusion into weights: an activation closes a weighted sum.
    "fuse-activations,"
    "canonicalise";

constexpr NamedPipeline kPipelines[] = {
    {"none", "Nothing: the graph as imported.", ""},
    {"canonicalise", "The clean-up group, run until nothing changes.", kCanonicalise, true},
    {"optimize", "The target-independent optimised graph, which model formats can express.",
     kOptimize},
    {"runtime", "What the CPU session executes.", kRuntime},
};

}  // namespace

std::span<const NamedPipeline> all_pipelines() { return kPipelines; }

const NamedPipeline* find_pipeline(std::string_view name) {
  for (const NamedPipeline& pipeline : kPipelines)
    if (pipeline.name == name) return &pipeline;
  return nullptr;
}

}  // namespace ec
