// real-weights: integers with scales of their own, as weights are stored in other formats, become
// the real numbers that they stand for. TFLite has no operator that reads scales as operands.
#include "backend/tflite/passes/legalise.h"
#include "ops/kernel.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

// Weights of one layer; nothing beyond what a file can hold anyway.
constexpr size_t kMostBytes = size_t{1} << 31;

Result<bool> make_real(Rewriter& r, Operation* op) {
  if (op->input(1) == nullptr || op->output()->dtype() != DType::F32) return false;
  std::vector<Value> values(op->inputs().size());
  std::vector<const Value*> operands(values.size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* input = op->input(i);
    if (input == nullptr) continue;
    if (!input->is_constant()) return false;
    values[i] = Value(input->dtype(), input->shape()->sizes(), input->data());
    operands[i] = &values[i];
  }
  EC_TRY(std::vector<Value> results, evaluate(*op, operands, kMostBytes));
  Tensor* real =
      r.graph().add_constant("", results.front().type(), std::move(results.front().data));
  r.replace(op, real);
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::Dequantize, make_real, "stored weights"}};

class RealWeightsPass : public Pass {
 public:
  std::string_view name() const override { return kRealWeightsPass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    return apply_rules(graph, context, kRules);
  }
};

}  // namespace

const PassInfo kRealWeightsPass{
    .name = "real-weights",
    .summary = "Turns stored integers with scales as operands into real weights.",
    .details =
        "Weights of packages and files that store them in fewer bits, with one scale for a tensor, "
        "a channel or a block. Quantisation has taken over the scales that it can use before.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RealWeightsPass>();
    }};

}  // namespace ec::passes
