// legalise-coral: operations in forms that the Edge TPU maps.
#include <algorithm>

#include "backend/coral/passes/legalise.h"
#include "backend/coral/passes/rules.h"
#include "ops/op_def.h"

namespace ec::passes {
namespace {

void note(Replacement& p, std::string_view form) {
  const Operation* op = p.from();
  const std::string_view type =
      op->location().op_type.empty() ? op_name(op->kind()) : op->location().op_type;
  const std::string_view name = op->location().name();
  p.rewriter().stats().notes.push_back(std::string(type) + " '" +
                                       std::string(name.empty() ? op->output()->name() : name) +
                                       "' as " + std::string(form));
}

class LegaliseCoralPass : public Pass {
 public:
  std::string_view name() const override { return kLegaliseCoralPass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    std::vector<RewriteRule> rules;
    for (const auto family : {kCoralActivations, kCoralConcat, kCoralDilation, kCoralLinear,
                              kCoralPads, kCoralBlocksAndTiles, kCoralRanks, kCoralReductions,
                              kCoralResize, kCoralSlices, kCoralSoftmax})
      rules.insert(rules.end(), family.begin(), family.end());
    return apply_rules(graph, context, rules);
  }
};

}  // namespace

bool is_float_form(const Operation* op) {
  return !has_quant(op) && is_float(op->output()->dtype());
}

bool moves_elements_only(const Operation* op) {
  return op->input(0)->dtype() == op->output()->dtype() &&
         op->input(0)->type().quant == op->output()->type().quant;
}

Tensor* with_parameters_of(Replacement& p, Tensor* result, const Tensor* like) {
  if (result != nullptr && like->type().quant)
    p.rewriter().graph().set_quant(result, like->type().quant);
  return result;
}

Result<bool> rewritten(Replacement& p, Tensor* result, std::string_view form) {
  Tensor* const results[] = {result};
  return rewritten_all(p, results, form);
}

Result<bool> rewritten_all(Replacement& p, std::span<Tensor* const> results,
                           std::string_view form) {
  if (p.ok()) note(p, form);
  return p.replace_all(results);
}

Tensor* selection_filters(Replacement& p, const Tensor* like, const std::vector<int64_t>& shape,
                          std::span<const int64_t> ones) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const auto filled = [&]<class T>(T) {
    std::vector<T> values(static_cast<size_t>(count), T{0});
    for (const int64_t at : ones) values[static_cast<size_t>(at)] = T{1};
    return Blob::copy_of(std::span<const T>(values));
  };
  TensorType type(like->dtype(), Shape::of(shape));
  if (like->type().quant) type.quant = QuantParams{{1.0f}, {0}, -1};
  Blob data = like->dtype() == DType::F32 ? filled(float{}) : filled(uint8_t{});
  return p.rewriter().graph().add_constant("", std::move(type), std::move(data));
}

const PassInfo kLegaliseCoralPass{
    .name = "legalise-coral",
    .summary = "Writes operations in forms that the Edge TPU maps.",
    .details =
        "For what Google's compiler leaves on the CPU though the device can compute it: unequal "
        "dilations become filters with zeros between the taps, layers on several rows 1x1 "
        "convolutions (floats) or one layer per row (integers), constants in a concatenation a pad "
        "and a sum, mirrored pads slices and a concatenation, strided slices a 1x1 pool, gathers "
        "slices or a 1x1 convolution that picks, depth_to_space a transposed convolution that "
        "picks, a resize from one pixel a tile, large resizes several small ones, softmax of a few "
        "rows one per row, transposes of many dimensions those of three. On floats, in front of "
        "quantisation, also hard_swish, abs, neg and divisions as formulas, means over channels as "
        "1x1 convolutions and large means in two steps. Graphs of integers give the same bits.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<LegaliseCoralPass>();
    }};

}  // namespace ec::passes
