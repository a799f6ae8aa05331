// legalise-mil: every operation in a form that ML Programs have an operation for.
#include "backend/metal/passes/legalise.h"

#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"

namespace ec::passes {
namespace {

class LegaliseMilPass : public Pass {
 public:
  explicit LegaliseMilPass(bool whole_attention) : whole_attention_(whole_attention) {}

  std::string_view name() const override { return kLegaliseMilPass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Rewriter rewriter(graph, context);
    EC_CHECK_OK(compute_in_single_precision(rewriter));
    std::vector<RewriteRule> rules;
    for (const auto family :
         {kMilActivations, kMilArithmetic, kMilLinear, kMilNorms, kMilMovement, kMilOpenSizes,
          kMilRanks, kMilSequences, kMilWindows, kMilFormulas,
          whole_attention_ ? kMilWholeAttention : kMilAttentionProducts, kMilOpenAttention})
      rules.insert(rules.end(), family.begin(), family.end());
    return apply_rules(graph, context, rules);
  }

 private:
  const bool whole_attention_;
};

constexpr PassOptionInfo kOptions[] = {
    {"attention", "products", "products|whole",
     "whole: attention is one operation where it has the form of programs from iOS 18 on"}};

}  // namespace

std::unique_ptr<Pass> make_legalise_mil(bool whole_attention) {
  return std::make_unique<LegaliseMilPass>(whole_attention);
}

const PassInfo kLegaliseMilPass{
    .name = "legalise-mil",
    .summary = "Brings operations into forms that Core ML's programs have operations for.",
    .details =
        "Activations, functions and normalisations that programs lack become formulas; linear "
        "layers get weights as [out, in]; attention, einsum, Fourier transforms, sampled grids and "
        "resizes that no operation does become products and gathers; recurrent layers other than "
        "plain LSTMs are unrolled; loops carry what they collect, and scans become loops; "
        "transposes of more than five dimensions merge those that move "
        "together. Runs behind the layout pass: images have their channels first.",
    .make = [](std::span<const PassOption> options) -> std::unique_ptr<Pass> {
      return make_legalise_mil(option_value(options, kOptions[0]) == "whole");
    },
    .options = kOptions};

}  // namespace ec::passes
