// Strategy `float16`: constants of 16-bit floats, widened where they are read.
#include <fmt/format.h>

#include <map>

#include "ops/attrs.h"
#include "quantize/strategy/weight_only.h"
#include "quantize/strategy/weight_store.h"
#include "quantize/tuning.h"
#include "quantize/weights/weights.h"
#include "support/small_float.h"

namespace ec::quantize::weight_only {
namespace {

constexpr float kLargestHalf = 65504.0f;

class Float16Weights {
 public:
  explicit Float16Weights(QuantizeContext& context) : store_(context) {}

  Status run() {
    for (Operation* op : store_.graph().topological()) {
      bool any = false;
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        const Tensor* operand = op->input(i);
        if (!is_float_constant(operand) || elements_of(operand) < tuning::kFewestHalves) continue;
        std::string reason = store_.kept_by_name(*op);
        if (reason.empty() && !fits(operand->values<float>()))
          reason = fmt::format("'{}' has values beyond what 16 bits hold", operand->name());
        if (!reason.empty()) {
          store_.keep(*op, std::move(reason));
          break;
        }
        EC_TRY(Tensor * wide, widened(op->input(i)));
        store_.replace_operand(op, i, wide);
        any = true;
      }
      store_.report().integer_ops += any;
    }
    store_.finish();
    return {};
  }

 private:
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
        store_.graph().add_constant(weights->name(), TensorType(DType::F16, *weights->shape()),
                                    Blob::copy_of(std::span<const uint16_t>(halves)));
    store_.record(*weights, *stored, rounded);
    CastAttrs attrs;
    attrs.to = DType::F32;
    EC_TRY(wide, store_.graph().add_single(OpKind::Cast, {stored}, Attrs(attrs)));
    return wide;
  }

  std::map<const Tensor*, Tensor*> widened_;  // looked up, never iterated

  WeightStore store_;
};

}  // namespace

Status store_float16(QuantizeContext& context) { return Float16Weights(context).run(); }

}  // namespace ec::quantize::weight_only
