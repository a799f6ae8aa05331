// legalise-tflite: every operation in a form that TFLite has an operator for.
#include "backend/tflite/passes/legalise.h"
#include "backend/tflite/passes/rules.h"

namespace ec::passes {
namespace {

constexpr PassOptionInfo kOptions[] = {
    {"when", "always", "always|foreign",
     "foreign: only graphs with operations that came from custom operators of other programs"}};

// Operations that TFLite files hold only as custom operators, or in what such operators become.
bool has_foreign_operation(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    if (op->kind() == OpKind::Atan) return true;
    for (const RewriteRule& rule : kTflitePublished)
      if (op->kind() == rule.kind) return true;
  }
  return false;
}

class LegaliseTflitePass : public Pass {
 public:
  explicit LegaliseTflitePass(bool only_foreign) : only_foreign_(only_foreign) {}

  std::string_view name() const override { return kLegaliseTflitePass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    if (only_foreign_ && !has_foreign_operation(graph)) return PassStats();
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

 private:
  bool only_foreign_;
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
    .make = [](std::span<const PassOption> options) -> std::unique_ptr<Pass> {
      return std::make_unique<LegaliseTflitePass>(option_value(options, kOptions[0]) == "foreign");
    },
    .options = kOptions};

}  // namespace ec::passes
