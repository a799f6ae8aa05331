// Strategy `float16`: constants of 16-bit floats, widened where they are read.
#include <fmt/format.h>

#include <map>

#include "ops/attrs.h"
#include "quantize/strategy/weight_only_run.h"
#include "quantize/weights/weights.h"
#include "support/small_float.h"

namespace ec::quantize {
namespace {

// Below this the conversion in front of a constant takes more room than 16 bits save.
constexpr int64_t kFewestHalves = 64;
constexpr float kLargestHalf = 65504.0f;

class Float16Run final : public StoredWeightsRun {
 public:
  using StoredWeightsRun::StoredWeightsRun;

 private:
  Status store() override {
    for (Operation* op : graph().topological()) {
      bool any = false;
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        const Tensor* operand = op->input(i);
        if (!is_float_constant(operand) || elements_of(operand) < kFewestHalves) continue;
        std::string reason = kept_by_name(*op);
        if (reason.empty() && !fits(operand->values<float>()))
          reason = fmt::format("'{}' has values beyond what 16 bits hold", operand->name());
        if (!reason.empty()) {
          keep(*op, std::move(reason));
          break;
        }
        EC_TRY(Tensor * wide, widened(op->input(i)));
        replace_operand(op, i, wide);
        any = true;
      }
      report().integer_ops += any;
    }
    return {};
  }

  static bool fits(std::span<const float> values) {
    bool finite = true;
    const Range range = range_of(values, finite);
    return !finite || (range.min >= -kLargestHalf && range.max <= kLargestHalf);
  }

  // Stored with 16 bits, read with 32.
  Result<Tensor*> widened(Tensor* weights) {
    Tensor*& wide = widened_[weights];
    if (wide != nullptr) return wide;
    std::vector<uint16_t> halves;
    std::vector<float> rounded;
    for (const float value : weights->values<float>()) {
      halves.push_back(float_to_half(value));
      rounded.push_back(half_to_float(halves.back()));
    }
    Tensor* stored =
        graph().add_constant(weights->name(), TensorType(DType::F16, *weights->shape()),
                             Blob::copy_of(std::span<const uint16_t>(halves)));
    record(*weights, *stored, rounded);
    CastAttrs attrs;
    attrs.to = DType::F32;
    EC_TRY(wide, graph().add_single(OpKind::Cast, {stored}, Attrs(attrs)));
    return wide;
  }

  std::map<const Tensor*, Tensor*> widened_;  // looked up, never iterated
};

}  // namespace

Result<QuantizeResult> run_float16(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink) {
  if (!request.target->has_float16) return not_on_target(request, "weights of 16-bit floats");
  return Float16Run(graph, request, sink, "float16").run();
}

}  // namespace ec::quantize
