// The one ordered list of passes. Each constraint on the order is stated where it binds.
#include "passes/pipeline.h"

namespace ec {
namespace {

// Cleanup that every other pass may leave work for; runs until nothing changes.
constexpr std::string_view kCanonicalise =
    // Branches first: what is never taken needs no work, and may not fit its operands.
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

constexpr std::string_view kRuntime =
    "optimize,"
    // Here only: model formats rarely have the operation, and back ends want its parts.
    "recover-attention,"
    // After all fusion into weights: an activation closes a weighted sum. Before the layout, so
    // that a convolution and what it takes along move as one.
    "fuse-activations,"
    "layout{to=nhwc},"
    // Transposes that the layout leaves meet those of the model.
    "canonicalise";

// What TFLite files are written from.
constexpr std::string_view kTflite =
    "optimize,"
    // Files choose their own order of dimensions: images come and go channels last.
    "layout{to=nhwc,io=free},"
    "canonicalise,"
    // After the layout: most forms are those of images with channels last.
    "legalise-tflite,"
    // Not the whole clean-up: moving transposes would undo what needs its dimension last.
    "fold-known,eliminate-identities,simplify-reshapes,common-subexpressions,eliminate-dead-code";
constexpr std::string_view kTfliteKeepIo =
    "optimize,layout{to=nhwc},canonicalise,legalise-tflite,"
    "fold-known,eliminate-identities,simplify-reshapes,common-subexpressions,eliminate-dead-code";

// A TFLite model that is written again: quantised by its maker, and any change would change it.
constexpr std::string_view kTfliteAsIs = "eliminate-dead-code";

// What files for the Edge TPU compiler are written from.
constexpr std::string_view kCoral =
    "tflite,legalise-coral,"
    "fold-known,eliminate-identities,simplify-reshapes,common-subexpressions,eliminate-dead-code";
constexpr std::string_view kCoralKeepIo =
    "tflite-keep-io,legalise-coral,"
    "fold-known,eliminate-identities,simplify-reshapes,common-subexpressions,eliminate-dead-code";

// What quantised ONNX files are written from: the order of dimensions that ONNX's operators have.
constexpr std::string_view kOnnxQdq = "layout{to=nchw},canonicalise";

constexpr NamedPipeline kPipelines[] = {
    {"none", "Nothing: the graph as imported.", ""},
    {"canonicalise", "The clean-up group, run until nothing changes.", kCanonicalise, true},
    {"optimize", "The target-independent optimised graph, which model formats can express.",
     kOptimize},
    {"runtime", "What the CPU session executes.", kRuntime},
    {"tflite", "What TFLite files are written from; image inputs and outputs channels last.",
     kTflite},
    {"tflite-keep-io", "The same with inputs and outputs in the source's order of dimensions.",
     kTfliteKeepIo},
    {"tflite-as-is", "Nothing but dead code: what comes from a TFLite file goes into one as it is.",
     kTfliteAsIs},
    {"onnx-qdq", "A graph that rounds its activations, as quantised ONNX files hold it.", kOnnxQdq},
    {"coral", "What files for the Edge TPU compiler are written from.", kCoral},
    {"coral-keep-io", "The same with inputs and outputs in the source's order of dimensions.",
     kCoralKeepIo},
};

}  // namespace

std::span<const NamedPipeline> all_pipelines() { return kPipelines; }

const NamedPipeline* find_pipeline(std::string_view name) {
  for (const NamedPipeline& pipeline : kPipelines)
    if (pipeline.name == name) return &pipeline;
  return nullptr;
}

}  // namespace ec
