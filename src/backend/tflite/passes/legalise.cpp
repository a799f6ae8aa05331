// legalise-tflite: every operation in a form that TFLite has an operator for.
#include "backend/tflite/passes/legalise.h"
#include "backend/tflite/passes/rules.h"

namespace ec::passes {
namespace {

class LegaliseTflitePass : public Pass {
 public:
  std::string_view name() const override { return kLegaliseTflitePass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    EC_CHECK_OK(compute_in_single_precision(rewriter));
    std::vector<RewriteRule> rules;
    for (const auto family :
         {kTflitePublished,  kTfliteSpectrum,   kTfliteChannelsLast,     kTfliteActivations,
          kTfliteArithmetic, kTfliteNorms,      kTfliteFusedActivations, kTfliteHeightOne,
          kTfliteSpatial3d,  kTfliteWindows,    kTfliteConvTranspose,    kTfliteLinear,
          kTfliteResize,     kTfliteReductions, kTfliteMovement,         kTfliteRecurrent,
          kTfliteEinsum,     kTfliteGridSample, kTfliteAttention,        kTfliteScatter,
          kTfliteSignal,     kTfliteLoops})
      rules.insert(rules.end(), family.begin(), family.end());
    return apply_rules(graph, context, rules);
  }
};

}  // namespace

const PassInfo kLegaliseTflitePass{
    .name = "legalise-tflite",
    .summary = "Brings operations into forms that TFLite has operators for.",
    .details =
        "Normalisations, activations and functions that TFLite lacks become formulas; convolutions "
        "and pools get two spatial dimensions and SAME or VALID pads, with an explicit pad in "
        "front "
        "where needed; linear layers get weights as [out, in]; resizes become one of the two "
        "operators, a gather or a product with a constant matrix; softmax and top_k work along the "
        "last dimension; recurrent layers are unrolled; attention, einsum, Fourier transforms and "
        "grid_sample become products and gathers; scatters become sums into zeros; loops carry "
        "results that grow; floats of other widths are computed in f32. Runs behind the layout "
        "pass: images have their channels last. Quantised "
        "operations stay as they are, but for pads.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<LegaliseTflitePass>();
    }};

// Counts of 64 bits are divided where the size of a result is computed; TFLite has no such kernel.
bool has_foreign_operation(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->kind() == OpKind::Atan) return true;
    if (op->kind() == OpKind::Div && op->output()->dtype() == DType::I64) return true;
    for (const RewriteRule& rule : kTflitePublished)
      if (op->kind() == rule.kind) return true;
  }
  return false;
}

}  // namespace ec::passes
