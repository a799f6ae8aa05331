// The pipelines that no target owns, in their order. Each constraint on the order is stated where
// it binds.
#include "passes/pipeline.h"

namespace ec {
namespace {

// Cleanup after every other pass; runs until nothing changes.
constexpr std::string_view kCanonicalise =
    // Branches first: one that is never taken need not be simplified, and may not fit its operands.
    "simplify-control-flow,"
    // Types and constants early: everything after reads them.
    "fold-known,"
    // Removal before the rest: the others match what is next to each other.
    "eliminate-identities,"
    "simplify-algebra,"
    "simplify-slices,"
    // Transposes that move nothing become reshapes, which then merge.
    "simplify-transposes,"
    "simplify-reshapes,"
    // After transposes and reshapes have merged with their own kind.
    "move-reshapes,"
    "simplify-broadcasts,"
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
    "recover-softmax,"
    "recover-depth-to-space,"
    // Kernels and back ends have global pools; a mean over two dimensions is a general reduction.
    "recover-pools,"
    // One form of linear layers before anything is merged into them.
    "canonicalise-linear,"
    // Pads first: normalisation in front of a convolution is merged only where nothing is padded.
    "fuse-pads,"
    // A bias behind a convolution before the normalisation behind that, and what is left after it.
    "fuse-scale-bias,"
    "fuse-conv-bn,"
    "fuse-scale-bias,"
    // After normalisation has become weights.
    "merge-branches,"
    // After all fusion: normalisation is merged only where nothing is padded.
    "trim-conv-taps,"
    "canonicalise";

// Passes in front of a strategy that rounds activations.
constexpr std::string_view kBeforeQuantising =
    // Behind the target's form: factors by channel that no layer took become layers of their own.
    "depthwise-scales";

// What quantised ONNX files are written from: the order of dimensions that ONNX's operators have.
constexpr std::string_view kOnnxQdq = "layout{to=nchw},canonicalise";

constexpr NamedPipeline kPipelines[] = {
    {"none", "Nothing: the graph as imported.", ""},
    {"canonicalise", "The clean-up group, run until nothing changes.", kCanonicalise, true},
    {"optimize", "The target-independent optimised graph, which model formats can express.",
     kOptimize},
    {"before-quantising", "What quantisation needs of a graph in the target's form.",
     kBeforeQuantising},
    {"onnx-qdq", "A graph that rounds its activations, as quantised ONNX files hold it.", kOnnxQdq},
};

}  // namespace

std::span<const NamedPipeline> built_in_pipelines() { return kPipelines; }

}  // namespace ec
