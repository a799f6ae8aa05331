// legalise-mil: every operation in a form that ML Programs have an operation for.
#include "backend/metal/passes/legalise.h"

#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"

namespace ec::passes {
namespace {

class LegaliseMilPass : public Pass {
 public:
  std::string_view name() const override { return kLegaliseMilPass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    EC_CHECK_OK(compute_in_single_precision(rewriter));
    std::vector<RewriteRule> rules;
    for (const auto family : {kMilActivations, kMilArithmetic, kMilLinear, kMilNorms, kMilMovement,
                              kMilRanks, kMilWindows, kMilFormulas})
      rules.insert(rules.end(), family.begin(), family.end());
    return apply_rules(graph, context, rules);
  }
};

}  // namespace

const PassInfo kLegaliseMilPass{
    .name = "legalise-mil",
    .summary = "Brings operations into forms that Core ML's programs have operations for.",
    .details =
        "Activations, functions and normalisations that programs lack become formulas; linear "
        "layers get weights as [out, in]; attention, einsum, Fourier transforms, sampled grids and "
        "resizes that no operation does become products and gathers; recurrent layers other than "
        "plain LSTMs are unrolled; transposes of more than five dimensions merge those that move "
        "together. Runs behind the layout pass: images have their channels first.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<LegaliseMilPass>();
    }};

}  // namespace ec::passes
